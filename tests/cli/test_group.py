import re

import pytest

import gditd
from gditd.cli.group import one_line, reason
from tests.cli.conftest import invoke

COMMANDS = ["fit", "predict", "evaluate", "explain", "inspect", "demo"]


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command, run):
    output = plain(run(command, "--help").stdout)
    assert "# Example: " in output
    assert re.search(rf"^ *(\w+ \S+ \| )?gditd {command} ", output, flags=re.MULTILINE)


def test_no_command_shows_the_help(run):
    output = plain(run().stdout)
    assert all(command in output for command in COMMANDS)
    assert output.strip() == plain(run("--help").stdout).strip()


def test_version(run):
    assert run("--version").stdout == f"gditd {gditd.__version__}\n"


@pytest.mark.parametrize(
    "args",
    [["nope"], ["--nope"], ["fit"], ["fit", "t.csv"], ["fit", "t.csv", "--target", "y", "--preset", "slow"],
     ["fit", "t.csv", "--target", "y", "--seed", "-1"], ["inspect", "a", "b"], ["predict", "m", "t", "--explain", "0"]],
)  # fmt: skip
def test_usage_errors_take_one_line(args, fail):
    assert "--help" in fail(*args)


def test_ctrl_c(folder, monkeypatch):
    from gditd.cli.tasks import inspect

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(inspect, "load_classifier", interrupted)
    result = invoke("inspect", folder / "model.gditd")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "interrupted: no file was written\n")


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (TypeError("a\nb"), 70, "error: this is a fault in gditd, please report it (TypeError: a b);"),
        (MemoryError(), 2, "error: there is not enough memory for this"),
        (RuntimeError("DefaultCPUAllocator: not enough memory"), 2, "error: there is not enough memory for this"),
        (OSError(28, "No space left on device"), 2, "error: No space left on device"),
    ],
)
def test_what_nobody_expected_takes_one_line_too(folder, monkeypatch, error, code, words):
    from gditd.cli.tasks import inspect

    def broken(*_):
        raise error

    monkeypatch.setattr(inspect, "load_classifier", broken)
    result = invoke("inspect", folder / "model.gditd")
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.startswith(words)
    assert result.stderr.count("\n") == 1
    monkeypatch.setenv("GDITD_TRACEBACK", "1")
    assert invoke("inspect", folder / "model.gditd").exception is not None


def test_what_errors_say():
    assert reason(PermissionError(13, "Permission denied", "m.gditd")) == "m.gditd: Permission denied"
    assert reason(ValueError()) == "ValueError"
    assert one_line("a\n\tb  c") == "a b c"
