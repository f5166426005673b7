"""One Parquet file or a folder of them, read a few rows at a time, in one order whatever the row groups are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gditd.tables import TableError
from gditd.tables.columns import is_number, is_text, is_time
from gditd.tables.convert import repeated
from gditd.tables.errors import quoted
from gditd.tables.naming import errors_about
from gditd.tables.readers import READ_AHEAD

LARGE = 512 << 20  # bytes in memory; fitting takes about eight times as much, which should fit a small machine
BATCH_BYTES = 32 << 20  # that are read at once
MOST_BATCH_ROWS = 65_536
FEWEST_BATCH_ROWS = 256
TRIED_ROWS = 1_000  # by which the size in memory is estimated
FORMAT = "Parquet"


@dataclass(frozen=True)
class Rows:
    """Neighbouring rows of one file, the first of which is its row `first`, counted from 0."""

    path: Path
    first: int
    table: pa.Table

    def at(self, row: int) -> str:
        """Where a row of this table is, for people."""
        return f'"{self.path}", row {self.first + row + 1}'


def is_parquet(path: Path) -> bool:
    """Whether a path is a folder, or a file that says it is Parquet."""
    return path.is_dir() or path.name.lower().endswith(".parquet")


class ParquetSource:
    """The rows of a file, or of all Parquet files under a folder in the order of their names.

    `columns` are those of the first file that are not left out; all files must have them, with types that mean the
    same.
    """

    def __init__(self, path: str | Path, *, ignore: Sequence[str] = ()) -> None:
        self.path = Path(path)
        self.files = parquet_files(self.path)
        self.schemas = [schema_of(file) for file in self.files]
        self.names = list(self.schemas[0].names)
        unknown = [name for name in ignore if name not in self.names]
        if unknown:
            raise TableError(f"no column {quoted(unknown)} to ignore: there are {quoted(self.names, 20)}")
        self.ignored = list(ignore)
        self.columns = [name for name in self.names if name not in ignore]
        for file, schema in zip(self.files[1:], self.schemas[1:], strict=True):
            refuse_other_columns(file, schema, self.files[0], self.schemas[0], self.columns)

    @cached_property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(int(pq.read_metadata(file).num_rows) for file in self.files)

    @cached_property
    def bytes_per_row(self) -> float:
        """About how much memory a row takes, by the first rows of the first file that has any."""
        for rows in self.batches(self.columns, batch_rows=TRIED_ROWS):
            return float(rows.table.nbytes / rows.table.num_rows)
        return 0.0

    @property
    def is_large(self) -> bool:
        """Whether the table is too large to be taken into memory without being asked to."""
        return self.n_rows * self.bytes_per_row > LARGE

    @property
    def batch_rows(self) -> int:
        """How many rows to read at once."""
        return int(min(max(BATCH_BYTES // max(self.bytes_per_row, 1), FEWEST_BATCH_ROWS), MOST_BATCH_ROWS))

    def batches(self, columns: list[str], *, batch_rows: int | None = None) -> Iterator[Rows]:
        """Read some columns of all rows, at most so many rows at a time."""
        batch_rows = self.batch_rows if batch_rows is None else batch_rows
        for path in self.files:
            first = 0
            with errors_about(path, FORMAT), pq.ParquetFile(path, pre_buffer=False, buffer_size=READ_AHEAD) as file:
                for batch in file.iter_batches(batch_size=batch_rows, columns=columns):
                    if batch.num_rows:
                        yield Rows(path, first, pa.Table.from_batches([batch]).select(columns))
                        first += batch.num_rows

    def read(self) -> pa.Table:
        """Take the whole table into memory."""
        tables = []
        for path in self.files:
            with errors_about(path, FORMAT), pq.ParquetFile(path, memory_map=True) as file:
                tables.append(file.read().select(self.names))
        return joined(tables)


def joined(tables: list[pa.Table]) -> pa.Table:
    """Tables one after another; where one has whole numbers and another fractions, all become fractions."""
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")


def parquet_files(path: Path) -> list[Path]:
    """The file itself, or the Parquet files of a folder and its folders; what tools hide by "_" or "." is left out."""
    if not path.exists():
        raise TableError(f'there is no file "{path}": check the path')
    if not path.is_dir():
        return [path]
    found = [
        file
        for file in sorted(path.rglob("*.parquet"))
        if file.is_file() and not any(part.startswith(("_", ".")) for part in file.relative_to(path).parts)
    ]
    if not found:
        raise TableError(f'the folder "{path}" has no file that ends in .parquet: check the path')
    divided = [part for file in found for part in file.relative_to(path).parts[:-1] if "=" in part]
    if divided:
        raise TableError(
            f'the folder "{path}" keeps a column in the names of its folders ("{divided[0]}"), which is not read: '
            "write it without partitions"
        )
    return found


def schema_of(path: Path) -> pa.Schema:
    """The columns of a file."""
    with errors_about(path, FORMAT):
        schema = pq.read_schema(path)
    doubles = repeated(list(schema.names))
    if doubles:
        raise TableError(f'"{path}" has more than one column named {quoted(doubles)}: rename them')
    return schema


def refuse_other_columns(path: Path, schema: pa.Schema, first: Path, known: pa.Schema, columns: list[str]) -> None:
    """Refuse a file that lacks a column of the first, or has something else in it."""
    absent = [name for name in columns if name not in schema.names]
    if absent:
        raise TableError(f'"{path}" lacks column {quoted(absent)}, which "{first}" has: add it, or take the file out')
    for name in columns:
        own, other = schema.field(name).type, known.field(name).type
        if meaning(own) != meaning(other) and "nothing" not in (meaning(own), meaning(other)):
            raise TableError(
                f'column "{name}" holds {meaning(own)} ({own}) in "{path}", but {meaning(other)} ({other}) in '
                f'"{first}": write all files with one type'
            )


def meaning(kind: pa.DataType) -> str:
    """What values of a type are, in a word."""
    if pa.types.is_dictionary(kind):
        return meaning(kind.value_type)
    if pa.types.is_null(kind):
        return "nothing"
    if pa.types.is_boolean(kind):
        return "booleans"
    if is_number(kind):
        return "numbers"
    if is_time(kind):
        return "times"
    return "text" if is_text(kind) or pa.types.is_string_view(kind) else str(kind)
