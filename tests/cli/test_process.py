"""The real command in a real shell: exit codes, pipes, signals. Each start costs seconds, so there are few."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

GDITD = [sys.executable, "-m", "gditd.cli"]


def start(*args, **options):
    return subprocess.Popen([*GDITD, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def finish(process, timeout=60):
    stdout, stderr = process.communicate(timeout=timeout)
    return process.returncode, stdout.decode(), stderr.decode()


def test_help_does_not_import_torch():
    code = "import sys; from gditd.cli import app; app(['--help'], standalone_mode=False)"
    check = f"try:\n    {code}\nfinally:\n    assert 'torch' not in sys.modules and 'pandas' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "gditd fit" in done.stdout


def test_script_is_installed():
    done = subprocess.run(
        [Path(sys.executable).parent / "gditd", "--version"], capture_output=True, check=True, timeout=60
    )
    assert done.stdout.startswith(b"gditd ")


def test_fit_then_evaluate(folder, tmp_path):
    model = tmp_path / "m.gditd"
    fit = start("fit", folder / "train.csv", "--target", "label", "--preset", "fast", "--out", model, "--json")
    code, stdout, stderr = finish(fit)
    assert (code, stderr) == (0, "")
    assert json.loads(stdout)["model"] == str(model)
    code, stdout, stderr = finish(start("evaluate", model, folder / "test.csv", "--target", "label", "--json"))
    assert (code, stderr) == (0, "")
    assert json.loads(stdout)["n_rows"] == 90


@pytest.fixture
def long_table(folder, tmp_path):
    """The test table many times over, so that scoring it takes a while."""
    head, *rows = (folder / "test.csv").read_text().splitlines(keepends=True)
    path = tmp_path / "long.csv"
    path.write_text(head + "".join(rows) * 4000)
    return path


def test_a_closed_pipe_ends_quietly(folder, long_table):
    process = start("predict", folder / "model.gditd", long_table)
    assert process.stdout.readline().startswith(b"amount,")
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 0


@pytest.mark.parametrize(
    "args", [["--help"], ["fit", "--help"], ["inspect", "model.gditd"], ["inspect", "model.gditd", "--json"]]
)
def test_every_command_ends_quietly_where_nobody_reads(args, folder):
    process = start(*args, cwd=folder)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 0


def test_the_demo_ends_quietly_and_leaves_nothing_behind(tmp_path):
    process = start("demo", "--rows", 500, cwd=tmp_path)
    process.stdout.close()  # it is told before it has learned anything
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 0
    assert list(tmp_path.iterdir()) == []


def test_an_error_that_nobody_reads_is_an_error(tmp_path):
    process = start("inspect", "none.gditd", cwd=tmp_path)
    process.stdout.close()
    process.stderr.close()
    assert process.wait(timeout=60) == 2


def test_streams_that_were_never_open(folder):
    command = f"{shlex.join(GDITD)} inspect model.gditd >&- 2>&-"
    assert subprocess.run(["sh", "-c", command], cwd=folder, timeout=60, check=False).returncode == 0


def test_ctrl_c_leaves_nothing_behind(folder, long_table, tmp_path):
    process = start("predict", folder / "model.gditd", long_table, "--out", "verdicts.csv", cwd=tmp_path)
    while process.poll() is None and not list(tmp_path.glob(".verdicts.csv.*")):
        time.sleep(0.005)
    time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    assert finish(process) == (130, "", "interrupted: no file was written\n")
    assert [path.name for path in tmp_path.iterdir()] == ["long.csv"]


def test_bad_input(folder, tmp_path):
    (tmp_path / "few.csv").write_text("amount\n1\n")
    code, stdout, stderr = finish(start("predict", folder / "model.gditd", "few.csv", "--out", "o.csv", cwd=tmp_path))
    assert (code, stdout) == (2, "")
    assert stderr.startswith("error: the table lacks columns")
    assert stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["few.csv"]
