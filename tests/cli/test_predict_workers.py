"""Several processes give the same bytes, errors and endings as one. Each start of a helper costs seconds."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from gditd.cli.tasks import tables
from gditd.cli.tasks.desk import Orders, version_of
from gditd.cli.tasks.predict import WORTH_SECONDS, Others
from gditd.cli.tasks.writers import FORMATS
from gditd.crew import Crew, Helper
from tests.cli.test_process import finish, start
from tests.raw_tables import mixed_table


@pytest.fixture
def handed_on(monkeypatch):
    """Pieces are small, and helpers have started before much is done; returns the tasks that they got."""
    tasks = []
    do_here, do = Crew._do_here, Helper.do

    def patient(self, task):
        while not all(helper._ready.done() for helper in self._helpers):
            time.sleep(0.01)
        return do_here(self, task)

    def noted(self, task):
        tasks.append(task)
        return do(self, task)

    monkeypatch.setattr(tables, "CHUNK_ROWS", 9)
    monkeypatch.setattr(Crew, "_do_here", patient)
    monkeypatch.setattr(Helper, "do", noted)
    return tasks


@pytest.fixture
def model(folder):
    return folder / "model.gditd"


@pytest.fixture
def plain(tmp_path):
    """A CSV without quotes, with gaps, an unknown column, and texts where rows 31 and 60 have numbers."""
    rows, _ = mixed_table((40, 60, 50), seed=2)
    lines = rows.assign(id=range(150)).to_csv(index=False).splitlines()
    for row in (31, 60):
        lines[row] = "many," + lines[row].split(",", 1)[1]
    (tmp_path / "plain.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "plain.csv"


def test_a_plain_csv(model, plain, run, tmp_path, handed_on):
    options = ("--on-error", "ood", "--explain", 2)
    one = run("predict", model, plain, *options, "--workers", 1, "--out", tmp_path / "one.csv")
    assert handed_on == []
    two = run("predict", model, plain, *options, "--workers", 2, "--out", tmp_path / "two.csv")
    assert len(handed_on) > 3
    assert {type(task.piece).__name__ for task in handed_on} == {"CsvPiece"}
    assert (tmp_path / "two.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()
    assert two.stderr.replace("two", "one") == one.stderr
    assert "2 of them because they could not be read" in one.stderr
    assert 'row 60: ""many"" is not a number' in (tmp_path / "two.csv").read_text()


def test_parquet_to_parquet_and_quotes_to_stdout(folder, model, run, tmp_path, handed_on):
    frame = pd.read_csv(folder / "test.csv", parse_dates=["day"])
    frame.to_parquet(tmp_path / "test.parquet")
    for workers in (1, 2):
        out = tmp_path / f"{workers}.parquet"
        run("predict", model, tmp_path / "test.parquet", "--workers", workers, "--out", out)
    assert len(handed_on) > 3
    assert (tmp_path / "1.parquet").read_bytes() == (tmp_path / "2.parquet").read_bytes()
    text = (folder / "test.csv").read_text()
    assert (
        run("predict", model, "-", "--workers", 2, stdin=text).stdout == run("predict", model, "-", stdin=text).stdout
    )
    assert {type(task.piece).__name__ for task in handed_on} == {"TablePiece"}


def test_an_error_in_a_helper_is_the_same_error(model, plain, fail, handed_on):
    one = fail("predict", model, plain, "--workers", 1, "--out", "o.csv")
    two = fail("predict", model, plain, "--workers", 2, "--out", "o.csv")
    assert two == one == 'error: column "amount", row 31: "many" is not a number\n'
    assert any(task.rows_before <= 30 < task.rows_before + task.piece.n_rows for task in handed_on), "a helper had it"


def test_a_model_that_was_replaced_is_noticed(model, tmp_path):
    orders = Orders(model, version_of(model), None, None, "raise", FORMATS[".csv"])
    assert orders.judging()
    with pytest.raises(ValueError, match="was replaced while it was in use"):
        replace(orders, version=(1, 2)).judging()
    assert version_of(tmp_path / "none.gditd") is None


def test_more_processes_only_where_they_are_worth_it():
    by_itself = Others(None, None)
    second = WORTH_SECONDS / 4
    assert not by_itself.worth_it(second, 1_000, 2_000)
    assert by_itself.worth_it(second, 1_000, 100_000)
    assert not by_itself.worth_it(second, 1_000, None)
    assert by_itself.worth_it(5 * second, 1_000, None)
    assert Others(None, 2).worth_it(0.0, 0, 10)
    assert [Others(None, workers).helpers for workers in (1, 2, 5)] == [0, 1, 4]


# --- in a shell ---


@pytest.fixture
def long_table(tmp_path):
    """So many rows that scoring them takes a while."""
    rows, _ = mixed_table((20, 30, 40), seed=1)
    head, *lines = rows.to_csv(index=False).splitlines(keepends=True)
    path = tmp_path / "long.csv"
    path.write_text(head + "".join(lines) * 20_000)
    return path


def helpers_of(process):
    """The processes that it has started."""
    try:
        started = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        return [int(pid) for pid in started if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()]
    except OSError:  # it ended just now
        return []


def wait_for_helpers(process):
    while process.poll() is None and not helpers_of(process):
        time.sleep(0.05)
    return helpers_of(process)


def gone(pids):
    for _ in range(100):
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.05)
    return False


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to see processes")


@needs_proc
@pytest.mark.parametrize("seconds", [0.0, 3.0], ids=["while it starts", "while it works"])
def test_ctrl_c_ends_all_processes(folder, long_table, tmp_path, seconds):
    args = ("predict", folder / "model.gditd", long_table, "--out", "verdicts.csv", "--workers", 2)
    process = start(*args, cwd=tmp_path, start_new_session=True)
    helpers = wait_for_helpers(process)
    assert helpers
    time.sleep(seconds)
    pressed = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: all processes get it
    assert finish(process) == (130, "", "interrupted: no file was written\n")
    assert time.monotonic() - pressed < 5
    assert gone(helpers)
    assert [path.name for path in tmp_path.iterdir()] == ["long.csv"]


@needs_proc
def test_a_closed_pipe_ends_all_processes(folder, long_table):
    process = start("predict", folder / "model.gditd", long_table, "--workers", 2)
    assert process.stdout.readline().startswith(b"amount,")
    while not (helpers := helpers_of(process)):
        assert process.stdout.read(1 << 16)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 0
    assert gone(helpers)
