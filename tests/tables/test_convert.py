import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from gditd.tables import TableError, to_arrow

ROWS = [{"a": 1.0, "b": "x"}, {"a": 2.5, "b": None}]


@pytest.mark.parametrize(
    "make",
    [
        lambda: ROWS,
        lambda: pa.Table.from_pylist(ROWS),
        lambda: pa.RecordBatch.from_pylist(ROWS),
        lambda: pd.DataFrame(ROWS),
        lambda: pd.DataFrame(ROWS, index=[7, 3]),
        lambda: pd.DataFrame(ROWS).convert_dtypes(dtype_backend="pyarrow"),
        lambda: pl.DataFrame(ROWS),
        lambda: pl.DataFrame(ROWS).lazy(),
    ],
)
def test_every_kind_of_table_gives_the_same_rows(make):
    assert to_arrow(make()).to_pylist() == ROWS


def test_arrays_get_names():
    table = to_arrow(np.array([[1, 2], [3, 4]]))
    assert table.column_names == ["x0", "x1"]
    assert to_arrow(np.eye(2), columns=["p", "q"]).column_names == ["p", "q"]
    assert to_arrow([[1, 2.5], [3, 4]]).to_pylist() == [{"x0": 1, "x1": 2.5}, {"x0": 3, "x1": 4}]
    assert to_arrow(torch.eye(2)).num_rows == 2


def test_object_arrays_column_by_column():
    table = to_arrow(np.array([[1, "x"], [2.5, None], [np.nan, "y"]], dtype=object))
    assert table.schema.types == [pa.float64(), pa.string()]
    assert table["x0"].null_count == 1


def test_numbers_are_not_copied():
    values = np.arange(5.0)
    assert to_arrow(pd.DataFrame({"a": values}, copy=False))["a"].chunk(0).buffers()[1].address == values.ctypes.data


def test_mixed_objects_become_text():
    frame = pd.DataFrame({"a": [1, "x", None, 2.5, pd.NA, float("nan"), Decimal("1.5")]}, dtype=object)
    assert to_arrow(frame)["a"].to_pylist() == ["1", "x", None, "2.5", None, None, "1.5"]


def test_pandas_types():
    frame = pd.DataFrame(
        {
            "category": pd.Categorical(["x", "y", None]),
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "flag": [True, False, True],
            "when": pd.to_datetime(["2024-01-01", None, "2024-01-03"]),
            5: [1, 2, 3],
        }
    )
    table = to_arrow(frame)
    assert table.column_names == ["category", "whole", "flag", "when", "5"]
    assert table["category"].to_pylist() == ["x", "y", None]
    assert table["whole"].to_pylist() == [1, None, 3]
    assert table["when"][0].as_py() == datetime.datetime(2024, 1, 1)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.arange(3.0), "two dimensions.*reshape"),
        (np.array(5), "two dimensions"),
        (np.array([[1j]]), "complex128 is no table"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), 'more than one column named "a"'),
        (pa.table([[1], [2]], names=["a", "a"]), 'more than one column named "a"'),
    ],
)
def test_what_is_no_table(X, message):
    with pytest.raises(TableError, match=message):
        to_arrow(X)


def test_wrong_number_of_names():
    with pytest.raises(TableError, match="1 column names for an array of 2 columns"):
        to_arrow(np.eye(2), columns=["a"])
