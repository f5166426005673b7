import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from gditd import atomic
from gditd.atomic import whole_folder, write_atomically


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_new_folder_appears_when_it_is_whole(tmp_path):
    with whole_folder(tmp_path / "made") as folder:
        (folder / "a").write_text("1")
        assert not (tmp_path / "made").exists()
    assert names(tmp_path) == ["made"]
    assert (tmp_path / "made" / "a").read_text() == "1"
    (tmp_path / "plain").mkdir()
    assert (tmp_path / "made").stat().st_mode == (tmp_path / "plain").stat().st_mode, "others may read it as usual"


def test_a_folder_that_is_there_keeps_its_other_files(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "mine").write_text("mine")
    with whole_folder(tmp_path) as folder:
        (folder / "a").write_text("new")
        assert (tmp_path / "a").read_text() == "old"
    assert {name: (tmp_path / name).read_text() for name in names(tmp_path)} == {"a": "new", "mine": "mine"}


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_is_left_of_what_fails(tmp_path, there, error):
    out = tmp_path / "out"
    if there:
        out.mkdir()
        (out / "a").write_text("old")
    with pytest.raises(error), whole_folder(out) as folder:
        (folder / "a").write_text("new")
        raise error
    assert names(tmp_path) == (["out"] if there else [])
    assert not there or (out / "a").read_text() == "old"


# --- what killed runs leave ---

KILLED = """
import os, signal, sys
from pathlib import Path
from gditd.atomic import write_atomically, whole_folder
path = Path(sys.argv[2])
def half(temporary):
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "file":
    write_atomically(path, half)
else:
    with whole_folder(path) as folder:
        half(folder / "a")
"""


def be_killed(kind, path):
    ended = subprocess.run([sys.executable, "-c", KILLED, kind, str(path)], check=False, timeout=120)
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.parametrize("name", ["a.csv", "odd [a-z]*?.csv"])
def test_the_next_run_clears_what_a_killed_one_left(tmp_path, name):
    path = tmp_path / name
    path.write_text("old")
    (tmp_path / ".other.csv.abcdefgh.tmp").write_text("somebody else's")
    be_killed("file", path)
    assert path.read_text() == "old"
    assert len(names(tmp_path)) == 3
    write_atomically(path, lambda temporary: temporary.write_text("new"))
    assert names(tmp_path) == [".other.csv.abcdefgh.tmp", name]
    assert path.read_text() == "new"


@pytest.mark.parametrize("there", [True, False])
def test_folders_too(tmp_path, there):
    out = tmp_path / "out"
    if there:
        out.mkdir()
    be_killed("folder", out)
    assert len(list(tmp_path.rglob("*.tmp"))) == 1
    with whole_folder(out) as folder:
        (folder / "a").write_text("new")
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["out", "a"]


def test_what_another_run_works_on_is_left_alone(tmp_path):
    path = tmp_path / "a.csv"

    def write_while_another_run_does(temporary):
        write_atomically(path, lambda inner: inner.write_text("inner"))
        assert path.read_text() == "inner"
        assert temporary.exists()
        temporary.write_text("outer")

    write_atomically(path, write_while_another_run_does)
    assert names(tmp_path) == ["a.csv"]
    assert path.read_text() == "outer"


def test_without_locks_nothing_is_cleared_away(tmp_path, monkeypatch):
    (tmp_path / ".a.csv.abcdefgh.tmp").write_text("perhaps somebody works on it")
    monkeypatch.setattr(atomic, "HAS_LOCKS", False)
    write_atomically(tmp_path / "a.csv", lambda temporary: temporary.write_text("new"))
    assert names(tmp_path) == [".a.csv.abcdefgh.tmp", "a.csv"]


def test_many_runs_at_once(tmp_path):
    """Whoever is last wins, nobody fails, and nothing is left over."""
    path = tmp_path / "a.csv"
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(lambda n: write_atomically(path, lambda temporary: temporary.write_text(f"{n}" * 999)), range(80))
        )
    assert names(tmp_path) == ["a.csv"]
    assert len(set(path.read_text())) <= 2
