"""Whatever a user holds in memory to an Arrow table, without copying where the memory layout allows it."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from .errors import TableError, quoted
from .grid import Grid

_TURNED_ROWS = 256


def to_arrow(X: Any, columns: Sequence[str] | None = None) -> pa.Table:
    """Turn a table of any common kind into an Arrow table.

    Takes pandas (the index is left out), polars (lazy frames are collected), Arrow tables and batches, any
    other frame narwhals knows, a list of dicts, a `Grid`, and two-dimensional arrays, whose columns are named by
    `columns` or "x0", "x1", ... Column names that are not text become text.
    """
    if isinstance(X, pa.Table):
        table = X
    elif isinstance(X, pa.RecordBatch):
        table = pa.Table.from_batches([X])
    elif isinstance(X, pd.DataFrame):
        table = _pandas_to_arrow(X)
    elif isinstance(X, Grid):
        table = _array_to_arrow(X.values, X.column_names)
    elif isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(row, Mapping) for row in X):
        table = rows_to_arrow(X)
    else:
        table = _frame_to_arrow(X)
        table = _array_to_arrow(X, columns) if table is None else table
    doubles = repeated(table.column_names)
    if doubles:
        raise TableError(f"the table has more than one column named {quoted(doubles)}: rename them")
    return table


def repeated(names: list[str]) -> list[str]:
    """The names that occur more than once, sorted."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


def rows_to_arrow(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows as dicts, keys as columns in the order of first sight; an absent key is a missing value."""
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table(
        [_objects_to_arrow([row.get(name) for row in rows]) for name in names], names=[str(n) for n in names]
    )


def _pandas_to_arrow(frame: pd.DataFrame) -> pa.Table:
    arrays = [_series_to_arrow(frame.iloc[:, place], name) for place, name in enumerate(frame.columns)]
    return pa.table(arrays, names=[str(name) for name in frame.columns])


def _series_to_arrow(series: "pd.Series[Any]", name: object) -> pa.Array:
    if isinstance(series.dtype, pd.SparseDtype):
        series = series.sparse.to_dense()
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iuf":
        # Straight over the memory: Arrow's pandas conversion would search it for NaN and build a null mask.
        return pa.array(series.to_numpy())
    if series.dtype == object:
        return _objects_to_arrow(series.tolist())
    try:
        array = pa.Array.from_pandas(series)
    except pa.ArrowException as error:
        raise TableError(
            f'column "{name}" holds values of type {series.dtype}, which Arrow does not have: convert it to numbers, '
            "text or dates"
        ) from error
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _frame_to_arrow(X: Any) -> pa.Table | None:
    """A frame narwhals knows or anything that speaks Arrow's C stream; None for anything else."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        return frame.to_arrow()
    return pa.table(X) if hasattr(X, "__arrow_c_stream__") else None


def _array_to_arrow(X: Any, columns: Sequence[str] | None) -> pa.Table:
    array: npt.NDArray[Any] = np.asarray(X)
    if array.ndim != 2:
        raise TableError(
            f"a table has two dimensions, this {type(X).__name__} has {array.ndim}: "
            "pass rows x columns, for one column X.reshape(-1, 1)"
        )
    if array.dtype.kind not in "biufUOMS":
        raise TableError(f"an array of {array.dtype} is no table: pass numbers, booleans, text or dates")
    names = [f"x{place}" for place in range(array.shape[1])] if columns is None else [str(n) for n in columns]
    if len(names) != array.shape[1]:
        raise TableError(f"{len(names)} column names for an array of {array.shape[1]} columns: give one each")
    if array.dtype.kind in "OUS":
        return pa.table([_objects_to_arrow(array[:, j].tolist()) for j in range(len(names))], names=names)
    return pa.table([pa.array(column) for column in _by_column(array)], names=names)


def _by_column(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array turned to (columns, rows): one copy for all columns, some rows at a time, which stay in the cache."""
    if array.flags.f_contiguous:
        return array.T
    turned: npt.NDArray[Any] = np.empty(array.shape[::-1], array.dtype)
    for start in range(0, len(array), _TURNED_ROWS):
        turned[:, start : start + _TURNED_ROWS] = array[start : start + _TURNED_ROWS].T
    return turned


def _objects_to_arrow(values: list[Any]) -> pa.Array:
    """Python values as one Arrow array; values of different types become text, and None, NaN and NaT null."""
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return pa.array([_text(value) for value in values], pa.string())


def _text(value: Any) -> str | None:
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float | np.floating | Decimal) and math.isnan(value):
        return None
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)
