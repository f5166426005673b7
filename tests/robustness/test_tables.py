"""Tables of any kind in memory: a verdict on every row, or an error that says what is wrong."""

from __future__ import annotations

import datetime
import decimal
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gditd import GDITDClassifier
from tests.raw_tables import quick
from tests.robustness.outcomes import answer_or_refusal
from tests.robustness.tables import COLUMNS, LABELS, MOST_ROWS, ORDINARY, columns, frames, labels
from tests.robustness.torture import tries

SETTINGS = st.sampled_from(
    [
        {},
        {"preset": "default", "n_members": 2},
        {"preset": "paper"},
        {"numbers": "quantile"},
        {"numbers": "piecewise"},
        {"calibration": "cross", "n_members": 2},
    ]
)

pytestmark = pytest.mark.filterwarnings("ignore")


def learned(table: Any, y: Any, **settings: Any) -> GDITDClassifier | str:
    return answer_or_refusal(lambda: quick(**{"max_epochs": 1} | settings).fit(table, y))


def judged(model: GDITDClassifier, table: pd.DataFrame, on_error: str = "raise") -> pd.DataFrame | str:
    """Verdicts, with reasons: a row is answered with finite numbers, or refused."""
    model = model.set_params(on_error=on_error)
    verdicts = answer_or_refusal(lambda: model.verdict(table))
    if isinstance(verdicts, str):
        return verdicts
    assert len(verdicts) == len(table)
    assert set(verdicts["verdict"]) <= {*model.classes_.tolist(), "OOD"}
    assert np.isfinite(verdicts["ood_score"]).all()
    for explanation in model.explain(table.iloc[:3]):
        assert str(explanation)
        assert explanation.to_dict()
    return verdicts


@tries(40, 4_000)
@given(data=st.data(), n_rows=st.integers(0, MOST_ROWS), settings=SETTINGS)
def test_any_table(data: st.DataObject, n_rows: int, settings: dict[str, Any]) -> None:
    frame = data.draw(frames(n_rows))
    model = learned(frame, data.draw(labels(n_rows)), **settings)
    if not isinstance(model, str):
        judged(model, frame)


@tries(40, 4_000)
@given(data=st.data(), n_rows=st.integers(6, MOST_ROWS), settings=SETTINGS)
def test_ordinary_columns_under_any_names(data: st.DataObject, n_rows: int, settings: dict[str, Any]) -> None:
    frame = data.draw(frames(n_rows, ORDINARY))
    codes = data.draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=n_rows, max_size=n_rows))
    model = learned(frame, codes, **settings)
    if not isinstance(model, str):
        assert not isinstance(judged(model, frame), str), "rows that were learned can be judged"


@pytest.fixture(scope="module")
def model() -> GDITDClassifier:
    """Learned from one column of each common kind."""
    rng = np.random.default_rng(0)
    n = 60
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = pd.DataFrame(
            {
                "number": rng.normal(size=n),
                "category": rng.choice(["a", "b", "c"], n),
                "boolean": rng.random(n) < 0.5,
                "date": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n), unit="D"),
            }
        )
        return quick().fit(frame, np.array(["x", "y"])[np.arange(n) % 2])


@tries(60, 8_000)
@given(data=st.data(), n_rows=st.integers(0, 12), on_error=st.sampled_from(["raise", "ood"]))
def test_any_column_in_the_place_of_another(
    model: GDITDClassifier, data: st.DataObject, n_rows: int, on_error: str
) -> None:
    names = ["number", "category", "boolean", "date"]
    frame = pd.DataFrame({name: data.draw(columns(n_rows)) for name in names}, index=range(n_rows))
    if data.draw(st.booleans()):
        frame = frame.drop(columns=data.draw(st.sampled_from(names)))
    verdicts = judged(model, frame, on_error)
    if on_error == "ood" and n_rows:
        assert_no_row_stops_it(verdicts)


def assert_no_row_stops_it(verdicts: pd.DataFrame | str) -> None:
    """With on_error="ood" a row that cannot be read is no reason to stop; a table that is none still is."""
    assert not isinstance(verdicts, str) or "complex128, which Arrow does not have" in verdicts


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("on_error", ["raise", "ood"])
def test_every_type_alone_and_in_every_place(model: GDITDClassifier, kind: str, on_error: str) -> None:
    """Nothing is left to chance: each kind is learned from alone, and comes where another one was."""
    column = typical(kind)
    y = np.array(["x", "y"])[np.arange(len(column)) % 2]
    alone = learned(pd.DataFrame({"column": column}), y)
    if not isinstance(alone, str):
        judged(alone, pd.DataFrame({"column": column}), on_error)
    usual = {"number": 1.0, "category": "a", "boolean": True, "date": pd.Timestamp("2024-02-02")}
    for name in usual:
        frame = pd.DataFrame({other: [value] * len(column) for other, value in usual.items()})
        verdicts = judged(model, frame.assign(**{name: column}), on_error)
        if on_error == "ood":
            assert_no_row_stops_it(verdicts)


TYPICAL: dict[str, list[Any]] = {
    "moments in nanoseconds": [0, 2**62, -(2**62), 10**18],
    "durations": [0, 2**62, -(2**62), 10**15 + 1],
    "python durations": [datetime.timedelta.max, datetime.timedelta.min, datetime.timedelta(1)],
    "decimals": [decimal.Decimal("1.5"), decimal.Decimal("-2.25"), decimal.Decimal(7)],
    "dates": [datetime.date.min, datetime.date.max, datetime.date(2024, 1, 1)],
    "moments": [datetime.datetime.min, datetime.datetime.max, datetime.datetime(2024, 1, 1, 12)],
    "moments in zones": [
        datetime.datetime(1, 1, 2, tzinfo=datetime.UTC),
        datetime.datetime(9999, 1, 1, tzinfo=datetime.UTC),
    ],
    "times of day": [datetime.time(0), datetime.time(23, 59, 59, 999_999)],
    "mixed": [None, True, 1, 2.5, "a", datetime.date(2020, 1, 1), b"x", ""],
    "any texts": ["", "a", "\0", "ab", "é"],
    "numbers as texts": ["1", "2.5", "nan", "inf", "-1e300"],
    "dates as texts": ["2024-01-01", "0001-01-01", "9999-12-31"],
    "float64": [0.0, 1.5, -1e300, 1e308],
    "float32": [0.0, 1.5, 3.4e38],
    "float16": [0.0, 1.5, -65504.0],
    "bytes": [b"", b"a", b"\xff"],
    "lists": [[], [1], [1, 2]],
    "objects": [{}, {"a": 1}, {"b": 2}],
    "complex numbers": [1j, 2 + 0j],
    "sparse": [0.0, 1.0, 2.0],
    "periods": [0, 5, 99],
    "float64 with gaps": [1.0, float("nan"), -3.0],
    "boolean": [True, False],
    "boolean with gaps": [True, None, False],
    "Int64 with gaps": [1, None, -5],
    "few texts with gaps": ["a", None, "b"],
    "all missing": [None],
    "all NaN": [float("nan")],
    "constant": [3],
    **{
        name: [int(np.iinfo(name).min), int(np.iinfo(name).max), 1]
        for name in COLUMNS
        if name.startswith(("int", "uint"))
    },
}


def typical(kind: str, n_rows: int = 24) -> Any:
    """A column of a kind with its extremes; the same in every run."""
    cells, make = COLUMNS[kind]
    few = TYPICAL.get(kind) or list(cells.elements)  # type: ignore[attr-defined] # what st.sampled_from was given
    return make([few[row % len(few)] for row in range(n_rows)])


@pytest.mark.parametrize("kind", LABELS)
def test_every_kind_of_label(kind: str) -> None:
    found = LABELS[kind]
    few = getattr(found, "elements", None) or {"booleans": [True, False], "all different": list("abcdefghijkl")}.get(
        kind, ["a"]
    )
    if kind == "lists":
        few = [[1]]
    y = [few[row % len(few)] for row in range(24)]
    table = pd.DataFrame({"x": np.arange(24.0), "z": np.arange(24) % 5})
    model = learned(table, y)
    if not isinstance(model, str):
        judged(model, table)
        assert len(model.classes_) <= len(few)


# --- shapes ---


@pytest.mark.parametrize("n_rows", [0, 1, 2, 3])
@pytest.mark.parametrize("n_columns", [0, 1, 2])
def test_hardly_any_table(n_rows: int, n_columns: int) -> None:
    frame = pd.DataFrame({f"c{i}": np.arange(float(n_rows)) for i in range(n_columns)}, index=range(n_rows))
    model = learned(frame, [f"k{row}" for row in range(n_rows)])
    if not isinstance(model, str):
        judged(model, frame)


def test_ten_thousand_columns() -> None:
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(24, 10_000)), columns=[f"column {place}" for place in range(10_000)])
    started = time.monotonic()
    model = learned(wide, np.array(["x", "y"])[np.arange(24) % 2], preset="paper")
    assert isinstance(model, GDITDClassifier)
    judged(model, wide.iloc[:2])
    assert time.monotonic() - started < 120


def test_one_column_of_ten_thousand_categories() -> None:
    texts = [f"text {row % 10_000}" for row in range(20_000)]
    frame = pd.DataFrame({"text": texts, "x": np.arange(20_000) % 7})
    model = learned(frame, np.array(["x", "y"])[np.arange(20_000) % 2], preset="paper")
    assert isinstance(model, GDITDClassifier)
    judged(model, frame.iloc[:5])


# --- every case that ever broke ---


def broke(column: Any, n_rows: int = 24) -> pd.DataFrame:
    return pd.DataFrame({"column": column, "x": np.arange(n_rows) % 5})


Y = np.array(["x", "y"])[np.arange(24) % 2]

TYPICAL_ROW = {"number": [0.0], "category": ["a"], "boolean": [True], "date": [datetime.date(2024, 1, 1)]}


class TestWhatBroke:
    def test_durations_in_nanoseconds(self) -> None:
        """Arrow refuses to cut nanoseconds off unless told so."""
        model = learned(broke(pd.Series(pd.to_timedelta(np.arange(24) * 1_001))), Y)
        assert isinstance(model, GDITDClassifier), model

    def test_a_type_that_arrow_does_not_have(self) -> None:
        """It was an ArrowNotImplementedError."""
        refusal = learned(broke(typical("complex numbers")), Y)
        assert isinstance(refusal, str)
        assert refusal.startswith('column "column" holds values of type complex128')

    def test_sparse_columns(self) -> None:
        """They were an ArrowTypeError."""
        assert isinstance(learned(broke(typical("sparse")), Y), GDITDClassifier)

    @pytest.mark.parametrize(("cell", "kind"), [([1], "list<item: int64>"), ({"a": 1}, "struct<a: int64>")])
    def test_what_is_no_text_where_categories_were(self, model: GDITDClassifier, cell: Any, kind: str) -> None:
        """Arrow does not make texts of lists and objects: such a row is refused, or of no class."""
        table = pa.table({**TYPICAL_ROW, "category": pa.array([cell])})
        refusal = answer_or_refusal(lambda: model.set_params(on_error="raise").verdict(table))
        assert isinstance(refusal, str)
        assert refusal.startswith(f'column "category", row 1: a value of type {kind} where a category is expected')
        verdicts = answer_or_refusal(lambda: model.set_params(on_error="ood").verdict(table))
        assert isinstance(verdicts, pd.DataFrame), verdicts
        assert list(verdicts["verdict"]) == ["OOD"]

    @pytest.mark.parametrize("on_error", ["raise", "ood"])
    def test_bytes_that_are_no_text_where_categories_were(self, model: GDITDClassifier, on_error: str) -> None:
        """Arrow makes texts only of some bytes: these are a category never seen."""
        table = pa.table({**TYPICAL_ROW, "category": pa.array([b"\xff"])})
        verdicts = answer_or_refusal(lambda: model.set_params(on_error=on_error).verdict(table))
        assert isinstance(verdicts, pd.DataFrame), verdicts

    def test_labels_of_bytes(self) -> None:
        """They were a TypeError of scikit-learn's."""
        refusal = learned(broke(np.arange(24)), [b"a", b"b"] * 12)
        assert refusal == "labels of type bytes_ name no class: make them text or whole numbers"

    def test_labels_that_are_dates(self) -> None:
        """They were called an unknown type of regression target."""
        refusal = learned(broke(np.arange(24)), [datetime.date(2024, 1, 1 + row % 2) for row in range(24)])
        assert refusal == "Unknown label type: date; make the labels text, or whole numbers of up to 18 digits"
