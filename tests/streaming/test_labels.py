"""Columns of labels: what names classes, and how the rest is refused."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gditd.streaming import as_class_labels
from gditd.tables import TableError
from tests.cli.conftest import invoke
from tests.raw_tables import quick

DAY = datetime.date(2024, 1, 1)


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (pa.array(["b", "a"]), ["b", "a"]),
        (pa.array(["b", "a"]).dictionary_encode(), ["b", "a"]),
        (pa.array(["b", "a"], pa.string_view()), ["b", "a"]),
        (pa.array([2, 1], pa.uint64()), [2, 1]),
        (pa.array([2.0, 1.0]), [2.0, 1.0]),
        (pa.array([Decimal("2.00"), Decimal("1.00")]), [2, 1]),
        (pa.array([True, False]), ["true", "false"]),
        (pa.array([DAY]), ["2024-01-01"]),
        (pa.array([], pa.null()), []),
    ],
)
def test_what_names_classes(column: pa.Array, labels: list[object]) -> None:
    found = as_class_labels(pa.chunked_array([column]), "kind").to_pylist()
    assert found == labels
    assert list(map(type, found)) == list(map(type, labels))


REFUSED: list[tuple[pa.Array, str, str]] = [
    (pa.array(["a", None] * 60), "row 2", 'has no label in column "kind": give every training row its class'),
    (pa.array(["a", ""] * 60), "row 2", 'has no label in column "kind"'),
    (pa.array([1.0, np.nan] * 60), "row 2", 'has no label in column "kind"'),
    (pa.nulls(120), "row 1", 'has no label in column "kind"'),
    (pa.array([1.0, 1.5] * 60), "row 2", ': column "kind" holds 1.5, but a number that names a class is whole'),
    (pa.array([1.0, np.inf] * 60), "row 2", ': column "kind" holds inf'),
    (pa.array([1.0, 1e20] * 60), "row 2", ': column "kind" holds 1e+20'),
    (pa.array([Decimal("1.0"), Decimal("1.5")] * 60), "row 2", ': column "kind" holds 1.5'),
    (pa.array([Decimal(1), Decimal(10**30)] * 60), "row 2", f': column "kind" holds {10**30}'),
    (pa.array([[1], [2]] * 60), "", 'column "kind" holds values of type list<'),
    (pa.array([b"a", b"b"] * 60), "", 'column "kind" holds values of type binary, which name no class: make them text'),
]
IDS = [f"{column.type} {place}" for place, (column, _, _) in enumerate(REFUSED)]


@pytest.mark.parametrize(("column", "row", "message"), REFUSED, ids=IDS)
@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
def test_what_names_no_class_is_refused(tmp_path: Path, stream: str, column: Any, row: str, message: str) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": np.arange(120.0), "kind": column}), path)
    result = invoke("fit", path, "--target", "kind", "--out", tmp_path / "m.gditd", stream)
    place = f'"{path}", {row}' if stream == "--stream" and row else row
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1), result.stderr
    assert f"error: {place}" in result.stderr
    assert message in result.stderr
    with pytest.raises(TableError):
        quick().fit_parquet(path, "kind", stream=stream == "--stream")


def test_whole_decimals_are_learned_from_as_integers(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    labels = pa.array([Decimal("1.00"), Decimal("2.00")] * 60)
    pq.write_table(pa.table({"x": np.arange(120.0) % 7, "kind": labels}), path)
    for stream in (True, False):
        assert quick().fit_parquet(path, "kind", stream=stream).classes_.tolist() == [1, 2]
