"""Tables out, chunk by chunk; the format follows the file's name."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gditd.cli.tasks.texts import csv_header, csv_rows, json_rows, naming
from gditd.tables import TableError
from gditd.tables.pieces import from_bytes, to_bytes

# A row group of a Parquet file, or a batch of an Arrow file, is written when it has so many rows or bytes.
GROUP_ROWS = 65_536
GROUP_BYTES = 32 << 20
PROBED_ROWS = 10_000
TEXT_FILE = ".jsonl"  # holds what Parquet and Arrow cannot


class Writer(Protocol):
    """Writes tables one after another to an open file, which stays open."""

    def write(self, table: pa.Table) -> None:
        """Write the next rows."""

    def settle(self, schema: pa.Schema) -> None:
        """Take the columns and types of the first table."""

    def put(self, ready: bytes) -> None:
        """Write rows that the format's `ready` has made ready, once the columns are settled."""

    def close(self) -> None:
        """Write what belongs at the end."""


class CsvWriter:
    """CSV, with quotes only around cells that need them."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._schema: pa.Schema | None = None

    def write(self, table: pa.Table) -> None:
        """Write rows, and before the first of them the names."""
        if self._schema is None:
            self.settle(table.schema)
        self.put(csv_rows(conformed(table, self._schema)))

    def settle(self, schema: pa.Schema) -> None:
        """Write the names."""
        self._schema = schema
        self._file.write(csv_header(schema.names))

    def put(self, ready: bytes) -> None:
        """Write lines."""
        self._file.write(ready)

    def close(self) -> None:
        """Nothing belongs at the end."""


class JsonLinesWriter:
    """One JSON object a row; a value that is missing is null."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, table: pa.Table) -> None:
        """Write rows."""
        self.put(json_rows(table))

    def settle(self, schema: pa.Schema) -> None:
        """Nothing is settled: every row has its own keys."""

    def put(self, ready: bytes) -> None:
        """Write lines."""
        self._file.write(ready)

    def close(self) -> None:
        """Nothing belongs at the end."""


class ArrowWriter:
    """Parquet or Arrow, whose types the first table settles."""

    def __init__(self, file: BinaryIO, opener: Callable[[BinaryIO, pa.Table], Any]) -> None:
        self._file, self._opener = file, opener
        self._writer: Any = None
        self._schema: pa.Schema = None
        self._waiting: list[pa.Table] = []

    def write(self, table: pa.Table) -> None:
        """Write rows."""
        if self._schema is None:
            self.settle(table.schema)
        self._collect(conformed(table, self._schema))

    def settle(self, schema: pa.Schema) -> None:
        """Take the columns and types; the file begins with its first group."""
        self._schema = schema

    def put(self, ready: bytes) -> None:
        """Write the rows of a table that has the file's types."""
        self._collect(from_bytes(ready))

    def close(self) -> None:
        """Write the last group and the footer."""
        if self._schema is not None:
            self._write_group()
            self._writer.close()

    def _collect(self, table: pa.Table) -> None:
        """Collect tables to a group, and write it when it is large enough."""
        self._waiting.append(table)
        rows = sum(waiting.num_rows for waiting in self._waiting)
        if rows >= GROUP_ROWS or sum(waiting.nbytes for waiting in self._waiting) >= GROUP_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        tables, self._waiting = self._waiting, []
        try:
            self._write_together(tables)
        except pa.ArrowException:
            self._name_column(tables)
            raise

    def _name_column(self, tables: list[pa.Table]) -> None:
        """Find the column that cannot be written: each is tried by itself, in memory."""
        for field in self._schema:
            alone = ArrowWriter(io.BytesIO(), self._opener)
            alone.settle(pa.schema([field]))
            with naming(field.name, TEXT_FILE):
                alone._write_together([table.select([field.name]) for table in tables])

    def _write_together(self, tables: list[pa.Table]) -> None:
        group = pa.concat_tables([self._schema.empty_table(), *tables]).combine_chunks()
        if self._writer is None:
            self._writer = self._opener(self._file, group)
        if group.num_rows:
            self._writer.write_table(group)


class GzipWriter:
    """Another writer's bytes, compressed."""

    def __init__(self, file: BinaryIO, inner: Callable[[BinaryIO], Writer]) -> None:
        # Level 6 is the usual trade; no time in the header, so that the same rows give the same file.
        self._gzip = gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6, mtime=0, filename="")
        self._inner = inner(self._gzip)  # type: ignore[arg-type] # has all of a BinaryIO that writing takes

    def write(self, table: pa.Table) -> None:
        """Write rows."""
        self._inner.write(table)

    def settle(self, schema: pa.Schema) -> None:
        """Let the inner writer begin."""
        self._inner.settle(schema)

    def put(self, ready: bytes) -> None:
        """Compress lines."""
        self._inner.put(ready)

    def close(self) -> None:
        """End the inner writer, then the compressed stream."""
        self._inner.close()
        self._gzip.close()


def arrow_rows(table: pa.Table) -> bytes:
    """Rows as an Arrow stream."""
    try:
        return to_bytes(table)
    except pa.ArrowException:
        for name in table.column_names:
            with naming(name, TEXT_FILE):
                to_bytes(table.select([name]))
        raise


def parquet(file: BinaryIO) -> Writer:
    """A Parquet writer."""
    return ArrowWriter(file, lambda out, first: pq.ParquetWriter(out, first.schema, use_dictionary=repetitive(first)))


def arrow(file: BinaryIO) -> Writer:
    """A writer of Arrow files, which Feather readers take too."""
    return ArrowWriter(file, lambda out, first: pa.ipc.new_file(out, first.schema))


def repetitive(table: pa.Table) -> list[str]:
    """The columns whose values come again and again, by the first rows.

    Parquet writes those as a dictionary and numbers into it. For others, measurements above all, it would give up the
    dictionary halfway, after four times the work, and leave it in the file.
    """
    first = table.slice(0, PROBED_ROWS)
    return [
        name
        for name, column in zip(first.column_names, first.columns, strict=True)
        if has_plain_values(column.type) and len(pc.unique(column)) <= first.num_rows / 2
    ]


def has_plain_values(kind: pa.DataType) -> bool:
    """Whether Arrow can tell the values of a type apart."""
    return not pa.types.is_nested(kind) and not isinstance(kind, pa.BaseExtensionType)


def gzipped_csv(file: BinaryIO) -> Writer:
    """A writer of compressed CSV."""
    return GzipWriter(file, CsvWriter)


def gzipped_json_lines(file: BinaryIO) -> Writer:
    """A writer of compressed JSON lines."""
    return GzipWriter(file, JsonLinesWriter)


@dataclass(frozen=True)
class Format:
    """A file format in two steps: `ready` is the work, for any process to do; `writer` puts its results in order.

    `typed`: cells are numbers and dates, not texts. `settled`: all rows have the columns and types of the first table.
    """

    writer: Callable[[BinaryIO], Writer]
    ready: Callable[[pa.Table], bytes]
    typed: bool = True
    settled: bool = True


FORMATS: dict[str, Format] = {
    ".csv": Format(CsvWriter, csv_rows, typed=False),
    ".csv.gz": Format(gzipped_csv, csv_rows, typed=False),
    ".jsonl": Format(JsonLinesWriter, json_rows, settled=False),
    ".jsonl.gz": Format(gzipped_json_lines, json_rows, settled=False),
    ".parquet": Format(parquet, arrow_rows),
    ".arrow": Format(arrow, arrow_rows),
    ".feather": Format(arrow, arrow_rows),
}


def format_for(path: Path) -> Format:
    """The format that a file's name asks for."""
    name = path.name.lower()
    for ending, form in FORMATS.items():
        if name.endswith(ending):
            return form
    raise ValueError(f"the name of {path} does not tell its format: give it one of the endings {', '.join(FORMATS)}")


def format_of(writer: Callable[[BinaryIO], Writer]) -> Format:
    """The format that a writer writes."""
    return next(form for form in FORMATS.values() if form.writer is writer)


def writer_for(path: Path) -> Callable[[BinaryIO], Writer]:
    """What writes the format that a file's name asks for."""
    return format_for(path).writer


def write_table(table: pa.Table, path: Path, make_writer: Callable[[BinaryIO], Writer]) -> None:
    """Write a whole table to a file."""
    with path.open("wb") as file:
        writer = make_writer(file)
        writer.write(table)
        writer.close()


def conformed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A later table in the columns and types of the first; JSON lines may change theirs on the way."""
    if table.schema.equals(schema):
        return table
    new = [name for name in table.column_names if name not in schema.names]
    if new:
        raise TableError(f'column "{new[0]}" appears only late in the table: write to a .jsonl file, which allows that')
    try:
        return table.select(schema.names).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableError(
            f"a column changes its type on the way ({error}): write to a .jsonl file, which allows that"
        ) from None
