"""Table files to Arrow tables: whole, or chunk by chunk in constant memory.

`read_table` looks at a whole CSV before it decides a column's type. `iter_tables` cannot, so it hands every
CSV column on as text: each chunk has the same types whatever comes later, and what reads the chunks against a
known schema (the encoder does) can name the row and the text that do not fit.
"""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from .arrow_files import arrow_batches
from .convert import repeated
from .csv_pieces import LABEL as CSV_LABEL
from .csv_pieces import csv_options, csv_pieces
from .errors import TableError, quoted
from .json_lines import iter_json_lines, read_json_lines
from .naming import counted_from, errors_about
from .pieces import Piece, TablePiece
from .text_stream import Utf8Stream, csv_shape

# Bytes of a column's part of a Parquet file that are held; by itself Arrow holds row groups, and with `pre_buffer` the
# whole file.
READ_AHEAD = 64 << 10
CHUNK_ROWS = 65_536
_FIRST_INEXACT = 2.0**53  # from which on a float is not every whole number


def read_table(path: str | Path, labels: str | None = None) -> pa.Table:
    """Read a whole table file; the format is known by the file's name.

    `labels` may name the column of class labels: in a CSV they keep their spelling, unless they are numbers.
    """
    path = Path(path)
    form = _format_of(path)
    with errors_about(path, form.label):
        table = form.read(path)
        _refuse_names(path, table.column_names)
        if form is not _CSV or labels is None or labels not in table.column_names:
            return table
        return _with_spelling(path, table, labels)


def iter_tables(path: str | Path, chunk_rows: int = CHUNK_ROWS) -> Iterator[pa.Table]:
    """Read a table file as tables of `chunk_rows` rows (the last may be shorter), never all at once.

    CSV columns come as text, see the module's docstring. A file without rows gives one table without rows, so
    that its columns can still be checked.
    """
    pieces = iter_pieces(path, chunk_rows)
    if _format_of(Path(path)) is _CSV:
        return _text_tables(pieces, chunk_rows)
    return (piece.table() for piece in pieces)


def iter_csv(file: BinaryIO, name: str, chunk_rows: int = CHUNK_ROWS) -> Iterator[pa.Table]:
    """Read an open CSV stream, such as standard input, in the same way; messages call it by `name`."""
    return _text_tables(iter_csv_pieces(file, name, chunk_rows), chunk_rows)


def iter_pieces(path: str | Path, most_rows: int = CHUNK_ROWS) -> Iterator[Piece]:
    """Read a table file as pieces of at most `most_rows` rows, which other processes can take on.

    Rows of a CSV are parsed only when a piece is asked for its table, where possible.
    """
    if most_rows < 1:
        raise ValueError(f"chunk_rows must be at least 1, not {most_rows}")
    path = Path(path)
    form = _format_of(path)
    return _guarded(path, form.pieces(path, most_rows), form.label)


def iter_csv_pieces(file: BinaryIO, name: str, most_rows: int = CHUNK_ROWS) -> Iterator[Piece]:
    """Read an open CSV stream in the same way."""
    path = Path(name)
    return _guarded(path, csv_pieces(Utf8Stream(path, file), path, most_rows), CSV_LABEL)


def _guarded(path: Path, pieces: Iterator[Piece], label: str) -> Iterator[Piece]:
    with errors_about(path, label):
        first = next(pieces)
        _refuse_names(path, first.names)
        yield first
        yield from pieces


def _refuse_names(path: Path, names: list[str]) -> None:
    doubles = repeated(names)
    if doubles:
        raise TableError(f'"{path}" has more than one column named {quoted(doubles)}: rename them')
    if not names:
        raise TableError(f'"{path}" has no columns: check that it is the file you mean')


def _text_tables(pieces: Iterator[Piece], chunk_rows: int) -> Iterator[pa.Table]:
    """The pieces of a CSV, whose rows are cut where its blocks end, as tables of `chunk_rows` rows."""
    first = next(pieces).table()
    batches = (batch for piece in pieces for batch in piece.table().to_batches())
    yield from _rechunked(first.schema, itertools.chain(first.to_batches(), batches), chunk_rows)


def _with_spelling(path: Path, table: pa.Table, labels: str) -> pa.Table:
    """A CSV's table with its column of labels as the file has them, where Arrow would spell them in its own way."""
    place = table.column_names.index(labels)
    if not _is_respelled(table.column(place)):
        return table
    return table.set_column(place, labels, _read_csv(path, text=labels).column(labels))


def _is_respelled(column: pa.ChunkedArray) -> bool:
    """Whether the texts of a CSV's column cannot be told from its values: True and true, 10:00 and 10:00:00."""
    return bool(pa.types.is_boolean(column.type) or pa.types.is_temporal(column.type)) or _holds_inexact(column)


def _holds_inexact(column: pa.ChunkedArray) -> bool:
    """Whether a column holds whole numbers so large that neighbours are the same in it."""
    if not pa.types.is_floating(column.type) or not pc.all(pc.is_finite(column)).as_py():
        return False
    whole = pc.all(pc.equal(column, pc.floor(column))).as_py()
    return bool(whole and pc.any(pc.greater_equal(pc.abs(column), _FIRST_INEXACT)).as_py())


def _read_csv(path: Path, text: str | None = None) -> pa.Table:
    """A whole CSV; with `text`, only the column of that name, as text."""
    with Utf8Stream(path) as stream:
        shape = csv_shape(path, stream.sample())
        options = csv_options(shape) if text is None else csv_options(shape, {text: pa.string()}, [text])
        one_thread = pyarrow.csv.ReadOptions(use_threads=False)  # only then does Arrow say which row is ragged
        try:
            return pyarrow.csv.read_csv(pa.BufferReader(stream.read()), read_options=one_thread, **options)
        except pa.ArrowInvalid as error:
            raise counted_from(-1, error) from None  # the line of column names is no row


def _iter_csv(path: Path, most_rows: int) -> Iterator[Piece]:
    with Utf8Stream(path) as stream:
        yield from csv_pieces(stream, path, most_rows)


def _read_parquet(path: Path) -> pa.Table:
    with pq.ParquetFile(path, memory_map=True) as file:
        return file.read()


def _iter_parquet(path: Path, chunk_rows: int) -> Iterator[pa.Table]:
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=READ_AHEAD) as file:
        batches = file.iter_batches(batch_size=chunk_rows)
        yield from _rechunked(file.schema_arrow, batches, chunk_rows)


def _read_arrow(path: Path) -> pa.Table:
    schema, batches = arrow_batches(path)
    return pa.Table.from_batches(batches, schema)


def _iter_arrow(path: Path, chunk_rows: int) -> Iterator[pa.Table]:
    schema, batches = arrow_batches(path)
    yield from _rechunked(schema, batches, chunk_rows)


def _rechunked(schema: pa.Schema, batches: Iterator[pa.RecordBatch], chunk_rows: int) -> Iterator[pa.Table]:
    """Join and cut batches of any size to tables of `chunk_rows` rows; at least one table comes out."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    nothing_yet = True
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows < chunk_rows:
            continue
        table = pa.Table.from_batches(waiting, schema)
        whole = rows - rows % chunk_rows
        for start in range(0, whole, chunk_rows):
            yield table.slice(start, chunk_rows)
        waiting, rows = table.slice(whole).to_batches(), rows - whole
        nothing_yet = False
    if rows or nothing_yet:
        yield pa.Table.from_batches(waiting, schema)


class _Format(NamedTuple):
    label: str
    read: Callable[[Path], pa.Table]
    pieces: Callable[[Path, int], Iterator[Piece]]


def _parsed(iterate: Callable[[Path, int], Iterator[pa.Table]]) -> Callable[[Path, int], Iterator[Piece]]:
    """Pieces of what is read as tables."""
    return lambda path, most_rows: (TablePiece(table) for table in iterate(path, most_rows))


_CSV = _Format(CSV_LABEL, _read_csv, _iter_csv)
_JSON = _Format("JSON lines", read_json_lines, _parsed(iter_json_lines))
_ARROW = _Format("Arrow", _read_arrow, _parsed(_iter_arrow))
_FORMATS = {
    **dict.fromkeys([".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"], _CSV),
    **dict.fromkeys([".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"], _JSON),
    **dict.fromkeys([".arrow", ".feather"], _ARROW),
    ".parquet": _Format("Parquet", _read_parquet, _parsed(_iter_parquet)),
}


def _format_of(path: Path) -> _Format:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    ending = "".join(suffixes[-2:]) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])
    if ending not in _FORMATS:
        known = ", ".join(itertools.chain(_FORMATS))
        raise TableError(f'the name of "{path}" does not tell its format: give it one of the endings {known}')
    return _FORMATS[ending]
