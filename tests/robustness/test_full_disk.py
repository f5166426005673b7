"""A disk that is full: an error that names the file, the old file as it was, and nothing else left behind."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gditd.atomic import write_atomically
from tests.raw_tables import mixed_table
from tests.robustness.model_bytes import model_bytes
from tests.robustness.torture import TORTURE

GDITD = [sys.executable, "-m", "gditd.cli"]
LIMIT = 64 * 1024  # bytes: less than a model or the verdicts, more than the rest


def no_larger_files() -> None:
    """In the child: the system refuses to let any file grow beyond the limit, as a full disk would."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


def run(*args: object, cwd: Path, before: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [*GDITD, *map(str, args)],
        cwd=cwd,
        env=environment,
        preexec_fn=before,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def tables(folder: Path) -> None:
    table, labels = mixed_table((40, 60, 110))
    table.assign(label=labels).to_csv(folder / "train.csv", index=False)
    mixed_table((3_000, 3_000, 3_000), seed=1)[0].to_csv(folder / "new.csv", index=False)
    (folder / "m.gditd").write_bytes(model_bytes("fast"))


FIT = ("fit", "train.csv", "--target", "label", "--preset", "fast", "--quiet", "--out", "out.gditd")
PREDICT = ("predict", "m.gditd", "new.csv", "--quiet", "--workers", "1", "--out")
COMMANDS = [FIT, *((*PREDICT, f"out.{ending}") for ending in ("csv", "csv.gz", "jsonl", "parquet", "arrow"))]


@pytest.mark.parametrize("command", COMMANDS if TORTURE else COMMANDS[:1], ids=lambda command: command[-1])
def test_a_file_that_cannot_grow(tmp_path: Path, command: tuple[str, ...]) -> None:
    tables(tmp_path)
    out = tmp_path / command[-1]
    out.write_text("the old one")
    before = sorted(path.name for path in tmp_path.iterdir())
    assert_refused(run(*command, cwd=tmp_path, before=no_larger_files), out)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def assert_refused(done: subprocess.CompletedProcess[str], out: Path) -> None:
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("error: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert out.name in done.stderr
    assert out.read_text() == "the old one"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 160 KB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() or shutil.which("mount") is None:
        pytest.skip("needs root, to mount a small file system")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this machine does not let a small file system be mounted")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_that_is_full(small_disk: Path, tmp_path: Path) -> None:
    tables(tmp_path)
    for command in COMMANDS if TORTURE else COMMANDS[1:2]:
        *rest, name = command
        out = small_disk / name
        out.write_text("the old one")
        assert_refused(run(*rest, out, cwd=tmp_path), out)
        assert [path.name for path in small_disk.iterdir()] == [name]
        out.unlink()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_the_error_names_the_file_and_not_the_temporary_one(tmp_path: Path, number: int) -> None:
    def fill(temporary: Path) -> None:
        temporary.write_text("half")
        raise OSError(number, os.strerror(number))

    (tmp_path / "a.csv").write_text("old")
    with pytest.raises(OSError, match="not written") as caught:
        write_atomically(tmp_path / "a.csv", fill)
    assert caught.value.filename == str(tmp_path / "a.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "old"
