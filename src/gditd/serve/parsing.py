"""Bodies to Arrow tables, piece by piece, with the rows counted as they come."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, FailFast

from gditd.serve.arrow_size import (
    is_textual,
    is_view,
    refuse_made_up,
    refuse_wide,
    spelt_out_bytes,
    stream_bytes,
    viewed_bytes,
)
from gditd.serve.errors import Refusal, first_line
from gditd.serve.formats import Format
from gditd.serve.parquet_size import count_rows, footer_of, unpacked_bytes
from gditd.serve.settings import MEGABYTE
from gditd.tables import TableError, iter_csv
from gditd.tables.convert import repeated, rows_to_arrow
from gditd.tables.errors import quoted
from gditd.tables.text_stream import Utf8Stream

ARROW_FILE = b"ARROW1\0\0"
BODY = "the body"  # what messages call it
MOST_HEADER = MEGABYTE  # bytes of a CSV's column names
CELL_BYTES = 8  # that a cell of a table takes, about
CHECKED_AGAIN = 16
PIECE_ROWS = 8_192  # scored at once: others wait no longer than this takes

_DELIMITERS = (b",", b";", b"\t", b"|")
_JSON_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)

Cell = str | bool | int | float | None


class RowsBody(BaseModel):
    """A JSON body: rows as objects, column names as keys."""

    # Other fields are refused, but not by pydantic, which makes an error of each: a large body may hold millions.
    model_config = ConfigDict(extra="allow", json_schema_extra={"additionalProperties": False})

    # The first row at fault is enough: a large body may hold millions of faults.
    rows: Annotated[list[dict[str, Cell]], FailFast()]


def json_rows(body: bytes, most_rows: int) -> list[dict[str, Any]]:
    """The rows of a JSON body."""
    # Each object or list takes a hundred bytes or more once it is read, however short it is: counted before.
    if _openings(body) > most_rows + 2 and _openings(_JSON_TEXT.sub(b"", body)) > most_rows + 2:
        raise too_many(most_rows)
    parsed = RowsBody.model_validate_json(body)
    refuse_fields(parsed.model_extra or {})
    rows: list[dict[str, Any]] = parsed.rows
    refuse_many(len(rows), most_rows)
    refuse_no_columns(any(rows) or not rows)
    return rows


def refuse_fields(fields: dict[str, Any]) -> None:
    """Refuse what stands beside the rows: it may be an option, which would be passed over."""
    if fields:
        name = next(iter(fields))
        raise Refusal(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            f'the body has a field "{name}" beside "rows": leave it out; options go into the address, as in ?alpha=0.1',
        )


def _openings(body: bytes) -> int:
    return body.count(b"{") + body.count(b"[")


def json_table(body: bytes, most_rows: int, most_bytes: int) -> pa.Table | None:
    """A JSON body as a table, None if it has no rows; a row without a column takes room there all the same."""
    rows = json_rows(body, most_rows)
    names: set[str] = set()
    for row in rows:
        names.update(row)
        refuse_wide(len(names))
    refuse_large(CELL_BYTES * len(names) * len(rows), most_bytes)
    return rows_to_arrow(rows) if rows else None


def body_tables(body: bytes, form: Format, *, most_rows: int, most_bytes: int) -> list[pa.Table]:
    """A body's rows as tables of at most `PIECE_ROWS`."""
    tables: list[pa.Table] = []
    rows = 0
    for table in _pieces(body, form, most_rows, most_bytes):
        rows += table.num_rows
        refuse_many(rows, most_rows)
        tables.append(table)
    return tables


def _pieces(body: bytes, form: Format, most_rows: int, most_bytes: int) -> Iterator[pa.Table]:
    if form == Format.csv:
        check_header(body)
        return iter_csv(io.BytesIO(body), BODY, PIECE_ROWS)
    if form == Format.json:
        table = json_table(body, most_rows, most_bytes)
        return iter(()) if table is None else cut(table)
    try:
        if form == Format.parquet:
            return cut(parquet_table(body, most_rows, most_bytes))
        return cut(arrow_table(body, most_rows, most_bytes))
    except (pa.ArrowException, OSError, OverflowError, UnicodeDecodeError, struct.error) as error:
        name = "Parquet" if form == Format.parquet else "Arrow"
        raise Refusal(
            HTTPStatus.BAD_REQUEST, f"the body cannot be read as {name} ({first_line(error)}): write it again"
        ) from None


def cut(table: pa.Table) -> Iterator[pa.Table]:
    """A table in pieces; one without rows is one piece, so that its columns can still be checked."""
    refuse_no_columns(table.num_columns > 0)
    doubles = repeated(table.column_names)
    if doubles:
        raise TableError(f"the table has more than one column named {quoted(doubles)}: rename them")
    for start in range(0, max(table.num_rows, 1), PIECE_ROWS):
        yield table.slice(start, PIECE_ROWS)


def check_header(body: bytes) -> None:
    """Refuse a CSV with too many columns, or a first line so long that finding its end takes long."""
    stream = Utf8Stream(Path(BODY), io.BytesIO(body))
    start = b""
    while len(start) < MOST_HEADER and (block := stream.read(MOST_HEADER)):
        start = (start + block).lstrip()
    marks = np.frombuffer(start, np.uint8)
    breaks = np.flatnonzero((marks == ord("\n")) | (marks == ord("\r")))
    quotes_before = np.searchsorted(np.flatnonzero(marks == ord('"')), breaks)
    outside = breaks[quotes_before % 2 == 0]
    end = int(outside[0]) if len(outside) else len(start)
    if end >= MOST_HEADER:
        raise Refusal(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"the line of column names is longer than {MOST_HEADER / MEGABYTE:g} MB: check that it ends",
        )
    refuse_wide(1 + max(start.count(mark, 0, end) for mark in _DELIMITERS))


def parquet_table(body: bytes, most_rows: int, most_bytes: int) -> pa.Table:
    """A Parquet file; its size is found out before anything is unpacked."""
    footer = footer_of(body)
    refuse_many(count_rows(footer), most_rows)
    with pq.ParquetFile(pa.BufferReader(body)) as file:
        refuse_wide(file.metadata.num_columns)
        refuse_made_up(file.schema_arrow)
        refuse_large(unpacked_bytes(body, footer, file), most_bytes)
        texts = [field.name for field in file.schema_arrow if is_textual(field.type)]
    # A text that many rows share stays one text, until it is known what it would be spelt out.
    with pq.ParquetFile(pa.BufferReader(body), read_dictionary=texts) as file:
        table = file.read(use_threads=False)
    table.validate(full=True)
    refuse_large(spelt_out_bytes(table), most_bytes)
    return table


def arrow_table(body: bytes, most_rows: int, most_bytes: int) -> pa.Table:
    """An Arrow stream or file, checked throughout: offsets beyond their buffers would crash the process."""
    whole = pa.py_buffer(body)
    # Between its magic number and its footer, a file is a stream.
    stream = whole.slice(len(ARROW_FILE)) if body.startswith(ARROW_FILE) else whole
    refuse_large(stream_bytes(stream), most_bytes)
    reader = pa.ipc.open_stream(stream)
    refuse_made_up(reader.schema)
    batches, rows, shared = [], 0, 0
    for batch in reader:
        rows += batch.num_rows
        refuse_many(rows, most_rows)
        refuse_large(CELL_BYTES * rows * batch.num_columns, most_bytes)
        # Checking a text takes time each time it is referred to, and it may be referred to very often.
        batch.validate()
        shared += referred_bytes(batch)
        refuse_large(shared, CHECKED_AGAIN * most_bytes)
        batch.validate(full=True)
        batches.append(batch)
    table = pa.Table.from_batches(batches, reader.schema)
    refuse_large(spelt_out_bytes(table), most_bytes)
    return table


def referred_bytes(batch: pa.RecordBatch) -> int:
    """The size of what the columns of a batch refer to: the values of dictionaries, and the texts of views."""
    total = 0
    for column in batch.columns:
        values = column.dictionary if pa.types.is_dictionary(column.type) else column
        if is_view(values.type):
            total += viewed_bytes(values)
        elif values is not column:
            total += sum(buffer.size for buffer in values.buffers() if buffer is not None)
    return total


def refuse_no_columns(has_columns: bool) -> None:
    """Refuse a table without columns: Arrow does not know how many rows it has."""
    if not has_columns:
        raise TableError("the table lacks columns altogether: send those that the model was trained on")


def refuse_many(rows: int, most: int) -> None:
    """Refuse more rows than are taken at once."""
    if rows > most:
        raise too_many(most)


def too_many(most: int) -> Refusal:
    """The answer to more rows than are taken at once."""
    return Refusal(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"there are more than {most:,} rows, the most this service takes at once: send them in pieces",
    )


def refuse_large(size: int, most: int) -> None:
    """Refuse a table that unpacks to more than several bodies: columns take more memory than packed bytes."""
    limit = 4 * most
    if size > limit:
        raise Refusal(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"the table unpacks to more than {limit / MEGABYTE:g} MB: send it in pieces",
        )
