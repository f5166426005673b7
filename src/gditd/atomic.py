"""Files, and folders of files, that are there whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file in the same folder, then put it in place in one step."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o666 & ~current_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder to fill, and put its files in place at the end; where the work fails, none of them appears.

    A folder that is already there keeps its other files, and those of the same names are replaced.
    """
    there = path.is_dir()
    # Inside a folder that is there: beside it may be another disk, to which nothing can be renamed.
    home = path if there else path.parent
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=home))
    try:
        yield temporary
        if there:
            for file in sorted(temporary.iterdir()):
                file.replace(path / file.name)
        else:
            temporary.chmod(0o777 & ~current_umask())
            temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def current_umask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    umask = os.umask(0)
    os.umask(umask)
    return umask
