"""What a model file holds of its training table: the list is complete, and rows are not in it unless asked for."""

from __future__ import annotations

import json
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gditd
from gditd import GDITDClassifier
from gditd.privacy import KINDS, holdings, privacy_document
from tests.cli.conftest import invoke
from tests.raw_tables import mixed_table

PLANTED_NUMBER = 3.14159265358979
PLANTED_DATE = pd.Timestamp("2024-03-17 07:08:09")
PLANTED_NOTE = "zanzibar-4711"

SETTINGS: list[dict[str, Any]] = [
    {"preset": "fast"},
    {"preset": "default", "n_members": 2},
    {"preset": "paper"},
    {"preset": "paper", "numbers": "quantile"},
    {"preset": "paper", "numbers": "piecewise"},
    {"preset": "default", "n_members": 2, "calibration": "cross"},
]


def table_with_planted_row() -> tuple[pd.DataFrame, np.ndarray]:
    """The planted row lies amid the others in every column, and has a text of its own in a column to be ignored."""
    frame, labels = mixed_table((70, 80, 110))
    frame["note"] = [f"note {row}" for row in range(len(frame))]
    frame.loc[100, ["amount", "gap", "day", "note"]] = [
        4.0 + PLANTED_NUMBER / 7,
        PLANTED_NUMBER / 5,
        PLANTED_DATE,
        PLANTED_NOTE,
    ]
    frame["day"] = pd.to_datetime(frame["day"])
    return frame, labels


def spellings(value: float) -> list[bytes]:
    """The bytes by which a number would be found in a file."""
    return [struct.pack("<d", value), struct.pack("<f", value), repr(value).encode(), f"{value:.6f}".encode()]


def planted() -> list[bytes]:
    seconds = PLANTED_DATE.timestamp()
    return [
        *spellings(4.0 + PLANTED_NUMBER / 7),
        *spellings(PLANTED_NUMBER / 5),
        *(struct.pack("<d", seconds), str(int(seconds)).encode(), b"2024-03-17"),
        PLANTED_NOTE.encode(),
    ]


def saved(path: Path, **settings: Any) -> bytes:
    frame, labels = table_with_planted_row()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GDITDClassifier(**{"max_epochs": 2, "random_state": 0, "ignore": ("note",)} | settings).fit(
            frame, labels
        )
    model.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("settings", SETTINGS, ids=repr)
def test_a_row_is_not_in_the_file(tmp_path: Path, settings: dict[str, Any]) -> None:
    content = saved(tmp_path / "m.gditd", **settings)
    assert not [text for text in planted() if text in content]
    document = privacy_document(gditd.load(tmp_path / "m.gditd"))
    assert document["holds_rows"] is False


def test_it_would_be_found(tmp_path: Path) -> None:
    """With examples the row is there, which shows that looking for it works."""
    content = saved(tmp_path / "m.gditd", preset="fast", keep_examples=True)
    found = [text for text in planted() if text in content]
    assert repr(4.0 + PLANTED_NUMBER / 7).encode() in found
    assert b"2024-03-17" in found
    assert PLANTED_NOTE.encode() not in found, "a column that was left out is nowhere"
    document = privacy_document(gditd.load(tmp_path / "m.gditd"))
    assert document["holds_rows"] is True
    examples = next(holding for holding in document["holdings"] if holding["kind"] == "rows")
    assert (examples["what"], examples["count"]) == ("example rows", 260)


def test_what_is_said_to_be_in_it_is_in_it(tmp_path: Path) -> None:
    """The list does not claim too little: extremes and categories of single rows are in the file."""
    frame, labels = table_with_planted_row()
    frame.loc[100, "amount"] = 987654.321
    frame.loc[101, "region"] = "atlantis"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GDITDClassifier(preset="paper", max_epochs=1, ignore=("note",), random_state=0).fit(frame, labels)
    model.save(tmp_path / "m.gditd")
    content = (tmp_path / "m.gditd").read_bytes()
    assert b"987654.321" in content
    assert b"atlantis" in content
    said = {holding.what: holding for holding in holdings(model)}
    assert "amount" in said["smallest and largest number or date of a column"].note
    assert said["categories and their counts"].note.endswith("1 of them in fewer than 5 rows")


@pytest.mark.parametrize("settings", SETTINGS, ids=repr)
def test_everything_in_the_file_is_described(tmp_path: Path, settings: dict[str, Any]) -> None:
    """Whoever adds something to the model file says here of which kind it is."""
    saved(tmp_path / "m.gditd", **settings)
    found = holdings(gditd.load(tmp_path / "m.gditd"))
    assert not [holding for holding in found if holding.kind == "unknown"]
    assert [holding.kind for holding in found] == sorted((h.kind for h in found), key=list(KINDS).index)


def test_the_command_line(tmp_path: Path) -> None:
    frame, labels = table_with_planted_row()
    frame.assign(label=labels).to_csv(tmp_path / "train.csv", index=False)
    fit = ("fit", tmp_path / "train.csv", "--target", "label", "--ignore", "note", "--preset", "fast", "--quiet")
    for option, rows in (("--no-examples", False), ("--keep-examples", True)):
        result = invoke(*fit, option, "--out", tmp_path / "m.gditd")
        assert result.exit_code == 0, result.stderr
        assert (repr(4.0 + PLANTED_NUMBER / 7).encode() in (tmp_path / "m.gditd").read_bytes()) is rows
        document = json.loads(invoke("inspect", tmp_path / "m.gditd", "--privacy", "--json").stdout)
        assert document["holds_rows"] is rows
        shown = invoke("inspect", tmp_path / "m.gditd", "--privacy").stdout
        assert ("example rows" in shown) is rows
        assert "scores of the rows that calibrate" in shown
