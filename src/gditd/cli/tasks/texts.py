"""Rows as the text of a file: lines of CSV, or of JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gditd.tables import TableError
from gditd.tables.columns import flat, text_bytes

NOTHING = pa.scalar("", pa.large_string())
COMMA = pa.scalar(",", pa.large_string())
LINE_END = pa.scalar("\n", pa.large_string())
QUOTE = pa.scalar('"', pa.large_string())
TO_QUOTE = (b'"', b",", b"\r", b"\n")
TYPED_FILE = ".arrow"  # holds what text cannot


@contextmanager
def naming(column: str, other_format: str) -> Iterator[None]:
    """Name the column that a format cannot hold, and a format that can."""
    try:
        yield
    except (pa.ArrowException, ValueError, OverflowError) as error:
        reason = str(error).partition("\n")[0]
        raise TableError(
            f'column "{column}" cannot be written ({reason}): leave it out, or write to a {other_format} file'
        ) from None


def csv_header(names: list[str]) -> bytes:
    """The line of column names."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(names)
    return line.getvalue().encode()


def csv_rows(table: pa.Table) -> bytes:
    """Rows as CSV, quoted cell by cell where that is needed: Arrow's own writer quotes every text or none."""
    if table.num_rows == 0:
        return b""
    *before, last = [csv_cells(name, column) for name, column in named_columns(table)]
    ended = pc.binary_join_element_wise(last, LINE_END, NOTHING, null_handling="replace")
    lines = pc.binary_join_element_wise(*before, ended, COMMA, null_handling="replace")
    # An Arrow array of texts holds them one after another in one piece of memory: the CSV itself.
    return b"".join(
        text_bytes(chunk).tobytes() for chunk in (lines.chunks if isinstance(lines, pa.ChunkedArray) else [lines])
    )


def csv_cells(name: str, column: pa.ChunkedArray) -> pa.LargeStringArray:
    """A column as CSV cells, missing values null; lists and structures as JSON."""
    with naming(name, TYPED_FILE):
        values = decoded(column)
        if pa.types.is_nested(values.type):
            texts = [None if cell is None else as_json(cell) for cell in json_cells(values)]
            values = pa.array(texts, pa.string())
        text = values.cast(pa.large_string())
    if pa.types.is_primitive(values.type) or not needs_quotes(text):
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
    cells = []
    for name, column in named_columns(table):
        with naming(name, TYPED_FILE):
            cells.append(json_cells(decoded(column)))
    rows = (dict(zip(table.column_names, row, strict=True)) for row in zip(*cells, strict=True))
    return "".join(f"{as_json(row, ensure_ascii=False)}\n" for row in rows).encode()


def named_columns(table: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """Each column with its name."""
    return zip(table.column_names, table.columns, strict=True)


def decoded(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array that holds each of its values by itself."""
    array = flat(column)
    return pc.run_end_decode(array) if pa.types.is_run_end_encoded(array.type) else array


def json_cells(column: pa.Array) -> list[Any]:
    """A column's cells as JSON has them: None for NaN and infinities, however deep they lie."""
    kind = column.type
    if pa.types.is_floating(kind):
        cells: list[Any] = pc.if_else(pc.is_finite(column), column, pa.scalar(None, kind)).to_pylist()
        return cells
    if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
        return [finite(cell) for cell in python_cells(column)]
    return python_cells(column)


def finite(value: Any) -> Any:
    """A value with None in the place of every number that is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    return value


def as_json(value: Any, *, ensure_ascii: bool = True) -> str:
    """Finite values as JSON; what it does not have, dates above all, as text."""
    return json.dumps(value, default=str, ensure_ascii=ensure_ascii, allow_nan=False)


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
