"""A small mixed table on disk, a model fitted on it through the command line, and a way to run commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from gditd.cli import app
from tests.raw_tables import mixed_table

Run = Callable[..., Result]


def invoke(*args: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)


@pytest.fixture
def run() -> Run:
    """Run a command that must succeed."""

    def succeed(*args: object, stdin: str | None = None) -> Result:
        result = invoke(*args, stdin=stdin)
        assert result.exit_code == 0, result.stderr
        return result

    return succeed


@pytest.fixture
def fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run a command that must fail as bad input does: exit code 2, one line, nothing on stdout, no new file."""
    monkeypatch.chdir(tmp_path)

    def refused(*args: object) -> str:
        before = sorted(tmp_path.rglob("*"))
        result = invoke(*args)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("error: ")
        assert result.stderr.count("\n") == 1
        assert sorted(tmp_path.rglob("*")) == before
        return result.stderr

    return refused


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """train.csv, test.csv (ten rows of a kind never trained on) and model.gditd."""
    folder = tmp_path_factory.mktemp("cli")
    train, labels = mixed_table((70, 80, 110))
    train.assign(label=labels).to_csv(folder / "train.csv", index=False)
    test, labels = mixed_table((20, 30, 40), seed=1)
    test = test.assign(label=pd.Series(labels).astype(object))
    test.loc[:9, ["amount", "label"]] = [90.0, "alien"]
    test.assign(remark='said "no", left').to_csv(folder / "test.csv", index=False)
    result = invoke(
        "fit", folder / "train.csv", "--target", "label", "--preset", "fast", "--out", folder / "model.gditd"
    )
    assert result.exit_code == 0, result.stderr
    return folder
