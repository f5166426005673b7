"""Tables as nobody would wish for them: columns of every type, odd values, odd names, odd labels."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

MOST_ROWS = 40

DATES = st.dates(datetime.date(1, 1, 1), datetime.date(9999, 12, 31))
MOMENTS = st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31))
ODD_TEXTS = st.sampled_from(
    ["", " ", "\t", "  1", " a ", "\0", "a\nb", "\u202e", "\ufeff", "😀", "Z̑", '"', "x,y", "nan", "NULL", "1e999", "١٢"]
)
FEW_TEXTS = st.sampled_from(["a", "b", "c", "ü"])
MIXED = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.floats(), FEW_TEXTS, DATES, st.binary(max_size=2), ODD_TEXTS
)
WILD_NUMBERS = st.sampled_from([1e308, -1e308, 1.7976931348623157e308, 5e-324, -0.0, 0.0, 1.0, 2.0, float("nan")])

# Every type that a column may have: what its cells are, and what makes a column of them.
Column = tuple[st.SearchStrategy[Any], Callable[[list[Any]], Any]]


def typed(dtype: str) -> Callable[[list[Any]], Any]:
    return lambda cells: pd.Series(cells, dtype=dtype)


def objects(cells: list[Any]) -> Any:
    return pd.Series(cells, dtype=object)


def integers(dtype: str) -> Column:
    info = np.iinfo(dtype)
    return st.integers(int(info.min), int(info.max)), typed(dtype)


COLUMNS: dict[str, Column] = {
    "float64": (st.floats(allow_nan=False, allow_infinity=False), typed("float64")),
    "float64 with gaps": (st.floats(-9, 9) | st.just(float("nan")), typed("float64")),
    "float64 with infinity": (st.sampled_from([1.0, float("inf"), float("-inf"), 2.0]), typed("float64")),
    "float32": (st.floats(width=32, allow_nan=False), typed("float32")),
    "float16": (st.floats(width=16, allow_nan=False, allow_infinity=False), typed("float16")),
    **{name: integers(name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")},
    "wild numbers": (WILD_NUMBERS, typed("float64")),
    "boolean": (st.booleans(), typed("bool")),
    "boolean with gaps": (st.none() | st.booleans(), typed("boolean")),
    "Int64 with gaps": (st.none() | st.integers(-9, 9), typed("Int64")),
    "few texts": (FEW_TEXTS, objects),
    "few texts with gaps": (st.none() | FEW_TEXTS, typed("str")),
    "odd texts": (ODD_TEXTS, objects),
    "any texts": (st.text(max_size=5), objects),
    "numbers as texts": (st.floats().map(str), objects),
    "dates as texts": (DATES.map(str), objects),
    "wrong dates as texts": (st.sampled_from(["2024-01-01", "2024-13-45", "99999-01-01", "0000-00-00"]), objects),
    "categorical": (st.sampled_from(["p", "q"]), lambda cells: pd.Series(pd.Categorical(cells))),
    "categorical numbers": (st.sampled_from([1, 2]), lambda cells: pd.Series(pd.Categorical(cells))),
    "dates": (DATES, objects),
    "moments": (MOMENTS, objects),
    "moments in nanoseconds": (st.integers(-(2**62), 2**62), lambda cells: pd.Series(pd.to_datetime(cells))),
    "moments in zones": (MOMENTS.map(lambda moment: moment.replace(tzinfo=datetime.UTC)), objects),
    "times of day": (st.times(), objects),
    "durations": (st.integers(-(2**62), 2**62), lambda cells: pd.Series(pd.to_timedelta(cells))),
    "python durations": (st.timedeltas(), objects),
    "decimals": (st.decimals(allow_nan=False, allow_infinity=False, places=3), objects),
    "wild decimals": (st.sampled_from([decimal.Decimal("1e400"), decimal.Decimal("NaN"), decimal.Decimal(1)]), objects),
    "huge integers": (st.sampled_from([10**30, -(10**25), 5]), objects),
    "mixed": (MIXED, objects),
    "all missing": (st.none(), objects),
    "all NaN": (st.just(float("nan")), typed("float64")),
    "constant": (st.just(3), typed("int64")),
    "bytes": (st.binary(max_size=3), objects),
    "lists": (st.lists(st.integers(-9, 9), max_size=2), objects),
    "objects": (st.dictionaries(FEW_TEXTS, st.integers(-9, 9), max_size=2), objects),
    "complex numbers": (st.complex_numbers(), typed("complex128")),
    "sparse": (st.floats(-9, 9), lambda cells: pd.Series(pd.arrays.SparseArray(np.array(cells, dtype=float)))),
    "periods": (st.integers(0, 99), lambda cells: pd.Series(pd.PeriodIndex.from_ordinals(cells, freq="M"))),
}

# Columns that a model can be learned from, for tables of which not all is odd.
ORDINARY = ("float64 with gaps", "few texts", "boolean", "Int64 with gaps", "few texts with gaps", "wild numbers")

NAMES = st.one_of(
    st.sampled_from(
        ["", " ", "\n", "\0", "😀", "ü", "a" * 300, "verdict", "x0", "0", "[bold]", "a,b", '"', 0, 1.5, None, ("t", 1)]
    ),
    st.text(max_size=6),
)

LABELS: dict[str, st.SearchStrategy[Any]] = {
    "texts": st.sampled_from(["a", "b", "c"]),
    "texts, one of them rare": st.sampled_from(["a"] * 9 + ["b"]),
    "integers": st.sampled_from([0, 5, -3]),
    "floats": st.sampled_from([0.0, 1.0, 2.0]),
    "fractions": st.sampled_from([0.5, 1.25]),
    "one class only": st.just("a"),
    "missing": st.sampled_from(["a", None, "b"]),
    "missing numbers": st.sampled_from([0.0, float("nan"), 1.0]),
    "with spaces": st.sampled_from([" a", "a ", "a", " "]),
    "empty": st.sampled_from(["", "a"]),
    "booleans": st.booleans(),
    "dates": st.sampled_from([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]),
    "mixed": st.sampled_from(["a", 1, 2.5]),
    "all different": st.uuids().map(str),
    "named OOD": st.sampled_from(["OOD", "a"]),
    "infinite": st.sampled_from([float("inf"), 1.0]),
    "bytes": st.sampled_from([b"a", b"b"]),
    "odd texts": ODD_TEXTS,
    "huge integers": st.sampled_from([10**30, 5]),
    "lists": st.just([1]),
}

# Where the cells do not fit a column's type, pandas itself refuses it, and there is no table to look at.
NOT_A_TABLE = (ValueError, TypeError, OverflowError)


@st.composite
def columns(draw: st.DrawFn, n_rows: int, kinds: tuple[str, ...] = tuple(COLUMNS)) -> Any:
    """A column of any kind."""
    cells, make = COLUMNS[draw(st.sampled_from(kinds))]
    try:
        return make(draw(st.lists(cells, min_size=n_rows, max_size=n_rows)))
    except NOT_A_TABLE:
        return pd.Series([None] * n_rows, dtype=object)


@st.composite
def frames(draw: st.DrawFn, n_rows: int, kinds: tuple[str, ...] = tuple(COLUMNS), most: int = 4) -> pd.DataFrame:
    """A table of any columns under any names, which may be the same."""
    made = [draw(columns(n_rows, kinds)) for _ in range(draw(st.integers(1, most)))]
    frame = pd.DataFrame(dict(enumerate(made)), index=range(n_rows))
    names = draw(st.lists(NAMES, min_size=len(made), max_size=len(made)) | st.just([f"c{i}" for i in range(len(made))]))
    frame.columns = pd.Index(names, dtype=object, tupleize_cols=False)
    return frame


@st.composite
def labels(draw: st.DrawFn, n_rows: int) -> list[Any]:
    """A label for each row."""
    kind = LABELS[draw(st.sampled_from(list(LABELS)))]
    return draw(st.lists(kind, min_size=n_rows, max_size=n_rows))
