"""Tables out, chunk by chunk; the format follows the file's name."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from gditd.tables import TableError


class Writer(Protocol):
    """Writes tables one after another to an open file, which stays open."""

    def write(self, table: pa.Table) -> None:
        """Write the next rows."""

    def close(self) -> None:
        """Write what belongs at the end."""


class CsvWriter:
    """CSV, with quotes only where they are needed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._schema: pa.Schema | None = None

    def write(self, table: pa.Table) -> None:
        """Write rows, and before the first of them the names."""
        table = pa.table([csv_column(column) for column in table.columns], names=table.column_names)
        if self._schema is None:
            self._schema = table.schema
            self._file.write(header(table.column_names))
        self._file.write(csv_rows(conformed(table, self._schema)))

    def close(self) -> None:
        """Nothing belongs at the end."""


class JsonLinesWriter:
    """One JSON object a row; a value that is missing is null."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, table: pa.Table) -> None:
        """Write rows."""
        lines = (json.dumps(row, default=str, ensure_ascii=False) for row in without_nan(table).to_pylist())
        self._file.write("".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        """Nothing belongs at the end."""


class ArrowWriter:
    """Parquet or Arrow, whose types the first table settles."""

    def __init__(self, file: BinaryIO, opener: Callable[[BinaryIO, pa.Schema], Any]) -> None:
        self._file, self._opener = file, opener
        self._writer: Any = None
        self._schema: pa.Schema = None

    def write(self, table: pa.Table) -> None:
        """Write rows."""
        if self._writer is None:
            self._schema = table.schema
            self._writer = self._opener(self._file, table.schema)
        self._writer.write_table(conformed(table, self._schema))

    def close(self) -> None:
        """Write the footer."""
        if self._writer is not None:
            self._writer.close()


class GzipWriter:
    """Another writer's bytes, compressed."""

    def __init__(self, file: BinaryIO, inner: Callable[[BinaryIO], Writer]) -> None:
        # Level 6 is the usual trade; no time in the header, so that the same rows give the same file.
        self._gzip = gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6, mtime=0, filename="")
        self._inner = inner(self._gzip)  # type: ignore[arg-type] # has all of a BinaryIO that writing takes

    def write(self, table: pa.Table) -> None:
        """Write rows."""
        self._inner.write(table)

    def close(self) -> None:
        """End the inner writer, then the compressed stream."""
        self._inner.close()
        self._gzip.close()


def parquet(file: BinaryIO) -> Writer:
    """A Parquet writer."""
    return ArrowWriter(file, pq.ParquetWriter)


def arrow(file: BinaryIO) -> Writer:
    """A writer of Arrow files, which Feather readers take too."""
    return ArrowWriter(file, pa.ipc.new_file)


FORMATS: dict[str, Callable[[BinaryIO], Writer]] = {
    ".csv": CsvWriter,
    ".csv.gz": lambda file: GzipWriter(file, CsvWriter),
    ".jsonl": JsonLinesWriter,
    ".jsonl.gz": lambda file: GzipWriter(file, JsonLinesWriter),
    ".parquet": parquet,
    ".arrow": arrow,
    ".feather": arrow,
}


def writer_for(path: Path) -> Callable[[BinaryIO], Writer]:
    """What writes the format that a file's name asks for."""
    name = path.name.lower()
    for ending, writer in FORMATS.items():
        if name.endswith(ending):
            return writer
    raise ValueError(f"the name of {path} does not tell its format: give it one of the endings {', '.join(FORMATS)}")


def conformed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A later table in the columns and types of the first; JSON lines may change theirs on the way."""
    new = [name for name in table.column_names if name not in schema.names]
    if new:
        raise TableError(f'column "{new[0]}" appears only late in the table: write to a .jsonl file, which allows that')
    try:
        return table.select(schema.names).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableError(
            f"a column changes its type on the way ({error}): write to a .jsonl file, which allows that"
        ) from None


def csv_column(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """A column as Arrow's CSV writer takes it: lists and structures as JSON."""
    kind = column.type
    if pa.types.is_nested(kind):
        cells = column.to_pylist()
        return pa.array([None if cell is None else json.dumps(cell, default=str) for cell in cells], pa.string())
    return column


def csv_rows(table: pa.Table) -> bytes:
    """Rows as CSV. Arrow quotes every text or none, so none is tried first."""
    for style in ("none", "needed"):
        buffer = pa.BufferOutputStream()
        options = pyarrow.csv.WriteOptions(include_header=False, quoting_style=style)
        try:
            pyarrow.csv.write_csv(table, buffer, options)
        except pa.ArrowInvalid:
            if style == "needed":
                raise
            continue
        return bytes(buffer.getvalue())
    raise AssertionError("one of the two styles always returns or raises")


def header(names: list[str]) -> bytes:
    """The line of column names."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(names)
    return line.getvalue().encode()


def without_nan(table: pa.Table) -> pa.Table:
    """The table with null for NaN, which JSON does not have."""
    columns = [
        pa.array(column.to_numpy(), from_pandas=True) if pa.types.is_floating(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)
