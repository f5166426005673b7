"""Tables out, chunk by chunk; the format follows the file's name."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gditd.tables import TableError

EMPTY = pa.scalar("", pa.large_string())


class Writer(Protocol):
    """Writes tables one after another to an open file, which stays open."""

    def write(self, table: pa.Table) -> None:
        """Write the next rows."""

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


def gzipped_csv(file: BinaryIO) -> Writer:
    """A writer of compressed CSV."""
    return GzipWriter(file, CsvWriter)


def gzipped_json_lines(file: BinaryIO) -> Writer:
    """A writer of compressed JSON lines."""
    return GzipWriter(file, JsonLinesWriter)


TEXT_WRITERS: tuple[Callable[[BinaryIO], Writer], ...] = (CsvWriter, gzipped_csv)  # their cells have no types

FORMATS: dict[str, Callable[[BinaryIO], Writer]] = {
    ".csv": CsvWriter,
    ".csv.gz": gzipped_csv,
    ".jsonl": JsonLinesWriter,
    ".jsonl.gz": gzipped_json_lines,
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


def write_table(table: pa.Table, path: Path, make_writer: Callable[[BinaryIO], Writer]) -> None:
    """Write a whole table to a file."""
    with path.open("wb") as file:
        writer = make_writer(file)
        writer.write(table)
        writer.close()


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


def csv_rows(table: pa.Table) -> bytes:
    """Rows as CSV, quoted cell by cell where that is needed: Arrow's own writer quotes every text or none."""
    if table.num_rows == 0:
        return b""
    cells = [csv_cells(column.combine_chunks()) for column in table.columns]
    *before, last = cells
    ended = pc.binary_join_element_wise(last, pa.scalar("\n", pa.large_string()), EMPTY, null_handling="replace")
    lines = pc.binary_join_element_wise(*before, ended, pa.scalar(",", pa.large_string()), null_handling="replace")
    # An Arrow array of texts holds them one after another in one piece of memory: the CSV itself.
    return b"".join(line_bytes(chunk) for chunk in (lines.chunks if isinstance(lines, pa.ChunkedArray) else [lines]))


def line_bytes(lines: pa.LargeStringArray) -> bytes:
    """All texts of an array, joined."""
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[lines.offset : lines.offset + len(lines) + 1]
    return bytes(data[int(ends[0]) : int(ends[-1])])


def csv_cells(column: pa.Array) -> pa.LargeStringArray:
    """A column as CSV cells, missing values null; lists and structures as JSON."""
    if pa.types.is_nested(column.type):
        cells = column.to_pylist()
        column = pa.array([None if cell is None else json.dumps(cell, default=str) for cell in cells], pa.string())
    text = column.cast(pa.large_string())
    if pa.types.is_primitive(column.type):
        return text
    special = pc.match_substring_regex(text, '[",\r\n]')
    if not pc.any(special).as_py():
        return text
    mark = pa.scalar('"', pa.large_string())
    quoted = pc.binary_join_element_wise(mark, pc.replace_substring(text, '"', '""'), mark, EMPTY)
    return pc.if_else(special, quoted, text)


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
