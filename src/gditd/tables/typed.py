"""Text from a CSV as the numbers, booleans and dates that the model knows a column to hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from .columns import as_booleans, as_numbers, as_times, is_text
from .decimal_marks import with_decimal_points


def typed(table: pa.Table, kinds: dict[str, str]) -> pa.Table:
    """Convert text columns by the kind each has in the model; a value that does not fit is missing."""
    table = pointed(table, kinds)
    columns = [
        converted(column, kinds.get(name, "")) if is_text(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.table(columns, names=table.column_names)


def converted(column: pa.ChunkedArray, kind: str) -> Any:
    """One text column."""
    if kind == "number":
        return pa.array(as_numbers(column, "")[0], from_pandas=True)
    if kind == "boolean":
        values = as_booleans(column, "")[0]
        return pa.array(values == 1, mask=np.isnan(values))
    if kind == "datetime":
        return pa.array(as_times(column, "")[0])
    return column


def pointed(table: pa.Table, kinds: dict[str, str]) -> pa.Table:
    """The table with decimal points in what the model knows as numbers."""
    return with_decimal_points(table, {name for name, kind in kinds.items() if kind == "number"})
