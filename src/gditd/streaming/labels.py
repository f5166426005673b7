"""A column of a table file as class labels."""

from __future__ import annotations

import pyarrow as pa

from gditd.tables.columns import as_text


def as_class_labels(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """What is neither text nor a number is taken as text, in the table's spelling."""
    if pa.types.is_boolean(column.type) or pa.types.is_temporal(column.type):
        return as_text(column)
    return column
