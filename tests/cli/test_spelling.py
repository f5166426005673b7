"""Labels and texts are compared as the file spells them, by all commands alike."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from gditd.bench.tables import from_file
from gditd.cli.tasks import tables
from gditd.cli.tasks.classes import class_codes
from gditd.report.figures import UNSEEN
from gditd.tables import iter_tables, read_table
from tests.cli.conftest import Run

LARGE = 2**60


def two_kinds(labels: tuple[object, object], rows: int = 60) -> pd.DataFrame:
    """Rows of two classes, which a number tells apart."""
    rng = np.random.default_rng(0)
    amount = np.concatenate([rng.normal(0, 1, rows), rng.normal(30, 1, rows)])
    label = np.repeat(np.array(labels, dtype=object), rows)
    return pd.DataFrame({"amount": amount.round(2), "more": rng.normal(size=2 * rows).round(2), "label": label})


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ((True, False), ["False", "True"]),
        (("10:00", "9:30"), ["10:00", "9:30"]),
        (("2024-01-01", "2024-02-01"), ["2024-01-01", "2024-02-01"]),
        (("2024-01-01 10:00", "2024-01-01T10:00"), ["2024-01-01 10:00", "2024-01-01T10:00"]),
        ((2**64 + 1, 2**64), ["18446744073709551616", "18446744073709551617"]),
        ((LARGE + 1, LARGE), [LARGE, LARGE + 1]),
    ],
)
def test_a_class_keeps_its_spelling(
    tmp_path: Path, run: Run, labels: tuple[object, object], classes: list[object]
) -> None:
    table, model = tmp_path / "t.csv", tmp_path / "m.gditd"
    rows = two_kinds(labels)
    rows.to_csv(table, index=False)
    fitted = run("fit", table, "--target", "label", "--preset", "fast", "--out", model, "--quiet", "--json")
    assert [known["class"] for known in json.loads(fitted.stdout)["classes"]] == classes
    figures = json.loads(run("evaluate", model, table, "--target", "label", "--json").stdout)
    assert (figures["n_rows"], figures["n_ood"]) == (120, 0)
    assert figures["id_accuracy"] == 1
    printed = run("predict", model, table, "--quiet").stdout
    verdicts = pd.read_csv(io.StringIO(printed), dtype=str)
    assert verdicts["known_class"].tolist() == rows["label"].astype(str).tolist()
    assert sorted(from_file(table, "label").class_names) == sorted(map(str, classes))


def test_the_bench_takes_the_spelling_of_the_table(tmp_path: Path, run: Run) -> None:
    two_kinds(("x", True)).assign(label=np.repeat(["True", "False", "TRUE"], 40)).to_csv(
        tmp_path / "t.csv", index=False
    )
    options = ("--methods", "mahalanobis", "--folds", 2, "--epochs", 1, "--workers", 1, "--json")
    printed = run("bench", tmp_path / "t.csv", "--target", "label", "--ood-class", "TRUE", *options)
    assert {row["ood_class"] for row in json.loads(printed.stdout)} == {"TRUE"}


@pytest.mark.parametrize(
    ("column", "codes"),
    [
        (pa.array([LARGE, LARGE + 1, LARGE + 2]), [0, 1, UNSEEN]),
        (pa.array([str(LARGE), f" {LARGE + 1}", f"{LARGE}.5"]), [0, 1, UNSEEN]),
        (pa.array(["7", "7.0", "7e0", "07", "7_0", "seven", "nan", "inf"]), [2, 2, 2, 2, *[UNSEEN] * 4]),
        (pa.array([7.0, 7.5, float(LARGE)]), [2, UNSEEN, 0]),
        (pa.array([[7], [8]]), [UNSEEN, UNSEEN]),
        (pa.array(["7", "8"]).dictionary_encode(), [2, UNSEEN]),
    ],
)
def test_whole_numbers_are_compared_to_the_last_digit(column: pa.Array, codes: list[int]) -> None:
    classes = np.array([LARGE, LARGE + 1, 7])
    assert class_codes(pa.chunked_array([column]), classes).tolist() == codes


def test_only_the_labels_of_a_csv_keep_their_spelling(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b;label\nTrue;1,5;True\nFalse;2,5;False\n")
    assert read_table(tmp_path / "t.csv", "label").to_pylist() == [
        {"a": True, "b": 1.5, "label": "True"},
        {"a": False, "b": 2.5, "label": "False"},
    ]
    assert read_table(tmp_path / "t.csv", "b")["b"].to_pylist() == [1.5, 2.5]
    assert read_table(tmp_path / "t.csv", "absent").column_names == ["a", "b", "label"]


@pytest.mark.parametrize("labels", [("1.0", "inf"), ("0.5", str(2**64)), ("1", "2")])
def test_other_numbers_are_read_as_numbers(tmp_path: Path, labels: tuple[str, str]) -> None:
    two_kinds(labels).to_csv(tmp_path / "t.csv", index=False)
    found = read_table(tmp_path / "t.csv", "label")["label"].to_pylist()
    assert sorted(set(found)) == sorted(map(float, labels))


@pytest.mark.parametrize("labels", [("1,5", "XL"), ("1,0", "2,0")])
def test_texts_with_commas_stay_as_they_are_where_numbers_have_decimal_commas(
    tmp_path: Path, run: Run, labels: tuple[str, str]
) -> None:
    """A size of 1,5 was a size never seen, even in the table that the model learned from."""
    table, model = tmp_path / "t.csv", tmp_path / "m.gditd"
    rows = two_kinds(labels).assign(size=np.tile(["1,5", "2,0", "XL"], 40))
    rows.to_csv(table, index=False, sep=";", decimal=",")
    run("fit", table, "--target", "label", "--preset", "fast", "--out", model, "--quiet")
    for ending in ("csv", "parquet"):
        verdicts = tmp_path / f"verdicts.{ending}"
        run("predict", model, table, "--quiet", "--out", verdicts)
        found = pd.read_csv(verdicts, dtype=str) if ending == "csv" else pd.read_parquet(verdicts)
        assert found["size"].tolist() == rows["size"].tolist()
        assert (found["verdict"] == "OOD").mean() < 0.2
        assert found["amount"].astype(float).tolist() == rows["amount"].tolist()
    figures = json.loads(
        run("evaluate", model, table, "--target", "label", "--json", "--report", tmp_path / "r.html").stdout
    )
    assert (figures["n_ood"], figures["id_accuracy"]) == (0, 1)
    explained = json.loads(run("explain", model, table, "--rows", "1,70", "--json").stdout)
    assert [row["row"] for row in explained] == [1, 70]


def test_dates_are_categories_in_every_chunk_of_json_lines(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a chunk had only dates, 2024-01-01 was a category never seen."""
    table, model = tmp_path / "t.jsonl", tmp_path / "m.gditd"
    since = np.repeat(["2024-01-01", "2024-02-01", "never"], 40)
    two_kinds(("a", "b")).assign(since=since, seen="2024-03-01").to_json(table, orient="records", lines=True)
    run("fit", table, "--target", "label", "--preset", "fast", "--out", model, "--quiet")
    monkeypatch.setattr(tables, "CHUNK_ROWS", 10)
    run("predict", model, table, "--quiet", "--out", tmp_path / "v.jsonl")
    verdicts = pd.DataFrame(map(json.loads, (tmp_path / "v.jsonl").read_text().splitlines()))
    assert verdicts["since"].tolist() == since.tolist()
    assert (verdicts["verdict"] == "OOD").mean() < 0.2


def test_decimal_commas_are_read_in_every_chunk(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b\n" + "1,5;x\n" * 5)
    chunks = list(iter_tables(tmp_path / "t.csv", 2))
    assert [chunk["a"].to_pylist() for chunk in chunks] == [["1,5"] * 2, ["1,5"] * 2, ["1,5"]]
