"""What a user hands to an estimator, as an Arrow table; scikit-learn's rules for arrays, names for frames."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from gditd.tables import TableError, to_arrow

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
)


def training_table(estimator: BaseEstimator, X: Any, y: Any) -> pa.Table:
    """Check training rows and set `n_features_in_` and, for frames, `feature_names_in_`."""
    if not is_frame(X):
        rows, _ = validate_data(estimator, X, y, dtype=None, ensure_all_finite=False, ensure_min_samples=2)
        return to_arrow(numbers_if_possible(rows))
    table = to_arrow(X)
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    if table.num_columns == 0 or table.num_rows < 2:
        raise TableError(
            f"a table of {table.num_rows} rows and {table.num_columns} columns is too small to learn from"
        )
    estimator.n_features_in_ = table.num_columns
    estimator.feature_names_in_ = np.array(table.column_names, dtype=object)
    return table


def new_table(estimator: BaseEstimator, X: Any) -> pa.Table:
    """Check new rows: frames by column name, arrays (and models that never saw names) by position."""
    names = getattr(estimator, "feature_names_in_", None)
    if not is_frame(X):
        rows = validate_data(estimator, X, reset=False, dtype=None, ensure_all_finite=False)
        return to_arrow(numbers_if_possible(rows), columns=None if names is None else list(names))
    table = to_arrow(X)
    if names is not None:
        return table
    if table.num_columns != estimator.n_features_in_:
        raise TableError(
            f"the table has {table.num_columns} columns, but the model learned from {estimator.n_features_in_} "
            "columns without names"
        )
    return table.rename_columns([f"x{place}" for place in range(table.num_columns)])


def is_frame(X: Any) -> bool:
    """Whether X has named columns."""
    if isinstance(X, pa.Table | pa.RecordBatch) or hasattr(X, "__arrow_c_stream__"):
        return True
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(isinstance(row, Mapping) for row in X)
    return isinstance(nw.from_native(X, pass_through=True), nw.DataFrame | nw.LazyFrame)


def numbers_if_possible(rows: NDArray[Any]) -> NDArray[Any]:
    """Turn an object array into numbers if every cell is one; refuse cells that are no plain value."""
    if rows.dtype.kind != "O":
        return rows
    try:
        return rows.astype(np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, TypeError) and not all(isinstance(cell, PLAIN_VALUES) for cell in rows.flat):
            raise
        return rows
