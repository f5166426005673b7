"""Rows as the text of a file: lines of CSV, or of JSON."""

from __future__ import annotations

import csv
import io
import json

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
        cells = column.to_pylist()
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
    lines = (json.dumps(row, default=str, ensure_ascii=False) for row in without_nan(table).to_pylist())
    return "".join(f"{line}\n" for line in lines).encode()


def without_nan(table: pa.Table) -> pa.Table:
    """The table with null for NaN, which JSON does not have."""
    columns = [
        pa.array(np.asarray(column.to_numpy()), from_pandas=True) if pa.types.is_floating(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)
