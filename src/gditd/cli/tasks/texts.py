"""Rows as the text of a file: lines of CSV, or of JSON."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gditd.tables.columns import flat, text_bytes

NOTHING = pa.scalar("", pa.large_string())
COMMA = pa.scalar(",", pa.large_string())
LINE_END = pa.scalar("\n", pa.large_string())
QUOTE = pa.scalar('"', pa.large_string())
TO_QUOTE = (b'"', b",", b"\r", b"\n")


def csv_header(names: list[str]) -> bytes:
    """The line of column names."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(names)
    return line.getvalue().encode()


def csv_rows(table: pa.Table) -> bytes:
    """Rows as CSV, quoted cell by cell where that is needed: Arrow's own writer quotes every text or none."""
    if table.num_rows == 0:
        return b""
    *before, last = [csv_cells(flat(column)) for column in table.columns]
    ended = pc.binary_join_element_wise(last, LINE_END, NOTHING, null_handling="replace")
    lines = pc.binary_join_element_wise(*before, ended, COMMA, null_handling="replace")
    # An Arrow array of texts holds them one after another in one piece of memory: the CSV itself.
    return b"".join(
        text_bytes(chunk).tobytes() for chunk in (lines.chunks if isinstance(lines, pa.ChunkedArray) else [lines])
    )


def csv_cells(column: pa.Array) -> pa.LargeStringArray:
    """A column as CSV cells, missing values null; lists and structures as JSON."""
    if pa.types.is_nested(column.type):
        cells = python_cells(column)
        column = pa.array([None if cell is None else json.dumps(cell, default=str) for cell in cells], pa.string())
    text = column.cast(pa.large_string())
    if pa.types.is_primitive(column.type) or not needs_quotes(text):
        return text
    special = pc.match_substring_regex(text, '[",\r\n]')
    quoted = pc.binary_join_element_wise(QUOTE, pc.replace_substring(text, '"', '""'), QUOTE, NOTHING)
    return pc.if_else(special, quoted, text)


def needs_quotes(texts: pa.LargeStringArray) -> bool:
    """Whether a cell of the column may: looked for in the column's memory as a whole, which is far quicker."""
    memory = text_bytes(texts).tobytes()
    return any(mark in memory for mark in TO_QUOTE)


def json_rows(table: pa.Table) -> bytes:
    """One JSON object a row."""
    names = table.column_names
    cells = [python_cells(flat(column)) for column in without_nan(table).columns]
    rows = (dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True))
    return "".join(f"{json.dumps(row, default=str, ensure_ascii=False)}\n" for row in rows).encode()


def python_cells(column: pa.Array) -> list[Any]:
    """A column's cells; where Python does not have one of its dates, all of them are text."""
    try:
        cells: list[Any] = column.to_pylist()
    except (ValueError, OverflowError):
        cells = column.cast(with_dates_as_text(column.type)).to_pylist()
    return cells


def with_dates_as_text(kind: pa.DataType) -> pa.DataType:
    """The type with text for dates, moments and times, however deep they lie."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(with_dates_as_text(field.type)) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(with_dates_as_text(kind.value_type))
    return pa.string() if pa.types.is_temporal(kind) else kind


def without_nan(table: pa.Table) -> pa.Table:
    """The table with null for NaN, which JSON does not have."""
    columns = [
        pa.array(np.asarray(column.to_numpy()), from_pandas=True) if pa.types.is_floating(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)
