"""What a user hands to an estimator, as an Arrow table; scikit-learn's rules for arrays, names for frames."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from gditd.tables import TableError, to_arrow
from gditd.tables.decimal_marks import has_decimal_commas, with_decimal_points
from gditd.tables.grid import Grid

PLAIN_VALUES = (
    str,
    bytes,
    bool,
    int,
    float,
    np.generic,
    decimal.Decimal,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    type(None),
    type(pd.NA),
)


def training_table(estimator: BaseEstimator, X: Any) -> pa.Table:
    """Check training rows and set `n_features_in_` and, for frames, `feature_names_in_`."""
    if not is_frame(X):
        rows = validate_data(estimator, X, dtype=None, ensure_all_finite=False, ensure_min_samples=2)
        return to_arrow(refuse_odd_cells(rows))
    table = to_arrow(X)
    if table.num_columns == 0 or table.num_rows < 2:
        raise TableError(f"a table of {table.num_rows} rows and {table.num_columns} columns is too small to learn from")
    estimator.n_features_in_ = table.num_columns
    estimator.feature_names_in_ = np.array(table.column_names, dtype=object)
    return table


def new_table(estimator: BaseEstimator, X: Any) -> pa.Table:
    """Check new rows: frames by column name, arrays (and models that never saw names) by position."""
    return to_arrow(new_rows(estimator, X))


def new_rows(estimator: BaseEstimator, X: Any) -> pa.Table | Grid:
    """Do as `new_table` does, and leave an array of numbers as it is: taking it apart costs as much as encoding it."""
    names = getattr(estimator, "feature_names_in_", None)
    if not is_frame(X):
        rows = validate_data(estimator, X, reset=False, dtype=None, ensure_all_finite=False, ensure_min_samples=0)
        columns = [f"x{place}" for place in range(rows.shape[1])] if names is None else [str(name) for name in names]
        grid = Grid.of(rows, columns)
        return to_arrow(refuse_odd_cells(rows), columns) if grid is None else grid
    table = to_arrow(X)
    if names is not None:
        return pointed(estimator, table)
    if table.num_columns != estimator.n_features_in_:
        raise TableError(
            f"the table has {table.num_columns} columns, but the model learned from {estimator.n_features_in_} "
            "columns without names"
        )
    return pointed(estimator, table.rename_columns([f"x{place}" for place in range(table.num_columns)]))


def pointed(estimator: BaseEstimator, table: pa.Table) -> pa.Table:
    """The table with decimal points, where it is of a CSV with decimal commas and a fitted model reads numbers."""
    if not has_decimal_commas(table) or not hasattr(estimator, "model_"):
        return table
    kinds = estimator.model_.encoder.schema_.kinds
    return with_decimal_points(table, {name for name, kind in kinds.items() if kind == "number"})


def is_frame(X: Any) -> bool:
    """Whether X has named columns."""
    if isinstance(X, pa.Table | pa.RecordBatch) or hasattr(X, "__arrow_c_stream__"):
        return True
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(isinstance(row, Mapping) for row in X)
    return isinstance(nw.from_native(X, pass_through=True), nw.DataFrame | nw.LazyFrame)


def refuse_odd_cells(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the rows, unless they are objects and one of them is no plain value."""
    if rows.dtype.kind == "O":
        for cell in rows.flat:
            if not isinstance(cell, PLAIN_VALUES):
                raise TypeError(f"a cell holds a {type(cell).__name__}: argument must be a string or a number")
    return rows
