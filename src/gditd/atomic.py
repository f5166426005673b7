"""Files, and folders of files, that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # a system without locks
    HAS_LOCKS = False
else:
    HAS_LOCKS = True

ENDING = ".tmp"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file in the same folder, then put it in place in one step.

    What an earlier run left of the same file, because it was killed, is cleared away.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}")
    clear_stale(path.parent, path.name)
    with errors_about(path), own_file(path) as temporary:
        write(temporary)
        temporary.chmod(0o666 & ~current_umask())
        save_to_disk(temporary)
        temporary.replace(path)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder to fill, and put its files in place at the end; where the work fails, none of them appears.

    A folder that is already there keeps its other files, and those of the same names are replaced.
    """
    there = path.is_dir()
    # Inside a folder that is there: beside it may be another disk, to which nothing can be renamed.
    home = path if there else path.parent
    for place in {path, path.parent} if there else {path.parent}:
        clear_stale(place, path.name)
    with own_folder(home, path.name) as temporary:
        yield temporary
        if there:
            for file in sorted(temporary.iterdir()):
                file.replace(path / file.name)
        else:
            temporary.chmod(0o777 & ~current_umask())
            temporary.replace(path)


# --- temporary files, locked by whoever works on them: what is not locked is left over from a run that was killed ---


@contextmanager
def own_file(path: Path) -> Iterator[Path]:
    """Yield a new file beside `path` that is gone at the end, unless it was renamed."""

    def make() -> Path:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=ENDING, dir=path.parent)
        os.close(handle)
        return Path(name)

    with made_and_locked(make) as temporary:
        try:
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def own_folder(home: Path, name: str) -> Iterator[Path]:
    """Yield a new folder in `home` that is gone at the end, unless it was renamed."""
    with made_and_locked(lambda: Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=ENDING, dir=home))) as temporary:
        try:
            yield temporary
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def made_and_locked(make: Callable[[], Path]) -> Iterator[Path]:
    """Make a file or folder and lock it; again, should another run clear it away before it is locked."""
    while True:
        made = make()
        with locked(made, wait=True) as held:
            if held:
                yield made
                return


@contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[bool]:
    """Lock a file or folder, until the end or the death of the process; False if it cannot be had or is gone."""
    if not HAS_LOCKS:  # nothing can be told to be left over, so nothing is cleared away
        yield wait
        return
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        yield False
        return
    try:
        yield flock(handle, wait=wait) and path.exists()
    finally:
        os.close(handle)


def flock(handle: int, *, wait: bool) -> bool:
    """Lock an open file; whoever waits goes on where the file system has no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return wait
    return True


def clear_stale(folder: Path, name: str) -> None:
    """Remove temporary files and folders for `name` that nobody works on any more."""
    for left in folder.glob(f".{escaped(name)}.????????{ENDING}"):
        with locked(left, wait=False) as free:
            if not free:
                continue
            with suppress(OSError):  # not ours to remove
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def escaped(name: str) -> str:
    """A name that stands for itself in a pattern."""
    return "".join(f"[{mark}]" if mark in "*?[" else mark for mark in name)


def save_to_disk(path: Path) -> None:
    """Wait until a file is on the disk: renamed before that, it might be empty after a power failure."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def errors_about(path: Path) -> Iterator[None]:
    """Let errors of the system, such as a full disk, name the file that was asked for, not the temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL or str(error.filename).endswith(ENDING):
            raise type(error)(error.errno, f"not written: {error.strerror}", str(path)) from error
        raise


def current_umask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    umask = os.umask(0)
    os.umask(umask)
    return umask
