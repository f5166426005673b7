"""Bodies to Arrow tables, piece by piece, with the rows counted as they come."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from http import HTTPStatus
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, FailFast

from gditd.serve.arrow_size import is_textual, spelt_out_bytes, stream_bytes
from gditd.serve.errors import Refusal, first_line
from gditd.serve.formats import Format
from gditd.serve.settings import MEGABYTE
from gditd.tables import TableError, iter_csv
from gditd.tables.convert import rows_to_arrow
from gditd.tables.errors import quoted

ARROW_FILE = b"ARROW1\0\0"
PIECE_ROWS = 8_192  # scored at once: others wait no longer than this takes

Cell = str | bool | int | float | None


class RowsBody(BaseModel):
    """A JSON body: rows as objects, column names as keys."""

    # The first row at fault is enough: a large body may hold millions of faults.
    rows: Annotated[list[dict[str, Cell]], FailFast()]


def json_rows(body: bytes, most_rows: int) -> list[dict[str, Any]]:
    """The rows of a JSON body."""
    rows: list[dict[str, Any]] = RowsBody.model_validate_json(body).rows
    refuse_many(len(rows), most_rows)
    return rows


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
        return iter_csv(io.BytesIO(body), "the body", PIECE_ROWS)
    if form == Format.json:
        rows = json_rows(body, most_rows)
        return cut(rows_to_arrow(rows)) if rows else iter(())
    try:
        if form == Format.parquet:
            return cut(parquet_table(body, most_rows, most_bytes))
        return cut(arrow_table(body, most_rows, most_bytes))
    except (pa.ArrowException, OSError, struct.error) as error:
        name = "Parquet" if form == Format.parquet else "Arrow"
        raise Refusal(
            HTTPStatus.BAD_REQUEST, f"the body cannot be read as {name} ({first_line(error)}): write it again"
        ) from None


def cut(table: pa.Table) -> Iterator[pa.Table]:
    """A table in pieces; one without rows is one piece, so that its columns can still be checked."""
    names = table.column_names
    doubles = sorted({name for name in names if names.count(name) > 1})
    if doubles:
        raise TableError(f"the table has more than one column named {quoted(doubles)}: rename them")
    for start in range(0, max(table.num_rows, 1), PIECE_ROWS):
        yield table.slice(start, PIECE_ROWS)


def parquet_table(body: bytes, most_rows: int, most_bytes: int) -> pa.Table:
    """A Parquet file; what it says about its size is looked at before anything is unpacked."""
    with pq.ParquetFile(pa.BufferReader(body)) as file:
        refuse_many(file.metadata.num_rows, most_rows)
        groups = (file.metadata.row_group(place) for place in range(file.metadata.num_row_groups))
        refuse_large(sum(group.total_byte_size for group in groups), most_bytes)
        texts = [field.name for field in file.schema_arrow if is_textual(field.type)]
    # A text that many rows share stays one text, until it is known what it would be spelt out.
    with pq.ParquetFile(pa.BufferReader(body), read_dictionary=texts) as file:
        table = file.read(use_threads=False)
    refuse_large(spelt_out_bytes(table), most_bytes)
    return table


def arrow_table(body: bytes, most_rows: int, most_bytes: int) -> pa.Table:
    """An Arrow stream or file, checked throughout: offsets beyond their buffers would crash the process."""
    whole = pa.py_buffer(body)
    # Between its magic number and its footer, a file is a stream.
    stream = whole.slice(len(ARROW_FILE)) if body.startswith(ARROW_FILE) else whole
    refuse_large(stream_bytes(stream), most_bytes)
    reader = pa.ipc.open_stream(stream)
    batches, rows = [], 0
    for batch in reader:
        batch.validate(full=True)
        rows += batch.num_rows
        refuse_many(rows, most_rows)
        batches.append(batch)
    table = pa.Table.from_batches(batches, reader.schema)
    refuse_large(spelt_out_bytes(table), most_bytes)
    return table


def refuse_many(rows: int, most: int) -> None:
    """Refuse more rows than are taken at once."""
    if rows > most:
        raise Refusal(
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
