"""Table files to Arrow tables: whole, or chunk by chunk in constant memory.

`read_table` looks at a whole CSV before it decides a column's type. `iter_tables` cannot, so it hands every
CSV column on as text: each chunk has the same types whatever comes later, and what reads the chunks against a
known schema (the encoder does) can name the row and the text that do not fit.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet as pq

from .errors import TableError, quoted
from .json_lines import iter_json_lines, read_json_lines
from .text_stream import CsvShape, Utf8Stream, csv_shape

CHUNK_ROWS = 65_536
_BLOCK_BYTES = 1 << 22


def read_table(path: str | Path) -> pa.Table:
    """Read a whole table file; the format is known by the file's name."""
    path = Path(path)
    form = _format_of(path)
    with _Naming(path, form.label):
        return _checked(path, form.read(path))


def iter_tables(path: str | Path, chunk_rows: int = CHUNK_ROWS) -> Iterator[pa.Table]:
    """Read a table file as tables of `chunk_rows` rows (the last may be shorter), never all at once.

    CSV columns come as text, see the module's docstring. A file without rows gives one table without rows, so
    that its columns can still be checked.
    """
    if chunk_rows < 1:
        raise ValueError(f"chunk_rows must be at least 1, not {chunk_rows}")
    path = Path(path)
    form = _format_of(path)
    return _guarded(path, form.iterate(path, chunk_rows), form.label)


def iter_csv(file: BinaryIO, name: str, chunk_rows: int = CHUNK_ROWS) -> Iterator[pa.Table]:
    """Read an open CSV stream, such as standard input, in the same way; messages call it by `name`."""
    return _guarded(Path(name), _csv_tables(Utf8Stream(Path(name), file), Path(name), chunk_rows), _CSV.label)


def _guarded(path: Path, tables: Iterator[pa.Table], label: str) -> Iterator[pa.Table]:
    with _Naming(path, label):
        first = next(tables)
        yield _checked(path, first)
        yield from tables


def _checked(path: Path, table: pa.Table) -> pa.Table:
    names = table.column_names
    doubles = sorted({name for name in names if names.count(name) > 1})
    if doubles:
        raise TableError(f'"{path}" has more than one column named {quoted(doubles)}: rename them')
    if not names:
        raise TableError(f'"{path}" has no columns: check that it is the file you mean')
    return table


class _Naming:
    """Turns what Arrow and the system say into one sentence about the file."""

    def __init__(self, path: Path, label: str) -> None:
        self.path = path
        self.label = label

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, FileNotFoundError):
            raise TableError(f'there is no file "{self.path}": check the path') from None
        if isinstance(error, OSError | pa.ArrowException) and not isinstance(error, TableError):
            raise TableError(self._sentence(str(error))) from None

    def _sentence(self, text: str) -> str:
        if "Empty CSV file" in text:
            return f'"{self.path}" is empty: it needs a line of column names and rows'
        ragged = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", text)
        if ragged:
            line, expected, found = map(int, ragged.groups())
            return (
                f'"{self.path}", row {line - 1}: {found} fields where the column names have {expected}: '
                "quote the fields that hold the delimiter, or complete the row"
            )
        reason = text.splitlines()[0] if text else "it is cut short or damaged"
        return f'"{self.path}" cannot be read as {self.label} ({reason}): write the file again'


def _csv_options(shape: CsvShape, column_types: dict[str, pa.DataType] | None = None) -> dict[str, object]:
    # One thread, because only then does Arrow say which row is ragged.
    return {
        "read_options": pyarrow.csv.ReadOptions(use_threads=False),
        "parse_options": pyarrow.csv.ParseOptions(delimiter=shape.delimiter, newlines_in_values=True),
        "convert_options": pyarrow.csv.ConvertOptions(
            strings_can_be_null=True, decimal_point=shape.decimal_point, column_types=column_types
        ),
    }


def _read_csv(path: Path) -> pa.Table:
    with Utf8Stream(path) as stream:
        options = _csv_options(csv_shape(path, stream.sample()))
        return pyarrow.csv.read_csv(pa.BufferReader(stream.read()), **options)


def _iter_csv(path: Path, chunk_rows: int) -> Iterator[pa.Table]:
    yield from _csv_tables(Utf8Stream(path), path, chunk_rows)


def _csv_tables(source: Utf8Stream, path: Path, chunk_rows: int) -> Iterator[pa.Table]:
    with source as stream:
        shape = csv_shape(path, stream.sample())
        header = _header(stream)
        names = pyarrow.csv.read_csv(pa.BufferReader(header), **_csv_options(shape)).schema.names
        schema = pa.schema([(name, pa.string()) for name in names])
        options = _csv_options(shape, dict.fromkeys(names, pa.string()))
        blocks = _csv_blocks(stream, header, options)
        for table in _rechunked(schema, blocks, chunk_rows):
            yield _with_decimal_points(table) if shape.decimal_point == "," else table


def _csv_blocks(stream: Utf8Stream, header: bytes, options: dict[str, object]) -> Iterator[pa.RecordBatch]:
    """Parse the stream block by block.

    Arrow's own block reader would read ahead in a thread that may hold the stream while Python shuts down.
    """
    rows_before = 0
    rest = b""
    first = True
    while block := stream.read(_BLOCK_BYTES):
        whole, rest = _whole_records(rest + block)
        if whole:
            table = _csv_block(whole if first else header + whole, rows_before, options)
            first = False
            rows_before += table.num_rows
            yield from table.to_batches()
    if rest or first:
        yield from _csv_block(rest if first else header + rest, rows_before, options).to_batches()


def _csv_block(block: bytes, rows_before: int, options: dict[str, object]) -> pa.Table:
    """Parse records that follow the column names; a ragged one is counted from the start of the file."""
    try:
        return pyarrow.csv.read_csv(pa.BufferReader(block), **options)
    except pa.ArrowInvalid as error:
        text = re.sub(r"Row #(\d+)", lambda found: f"Row #{int(found[1]) + rows_before}", str(error))
        raise pa.ArrowInvalid(text) from None


def _whole_records(block: bytes) -> tuple[bytes, bytes]:
    """Part a block after its last line break outside quotes."""
    end = block.rfind(b"\n")
    while end >= 0 and block.count(b'"', 0, end) % 2:
        end = block.rfind(b"\n", 0, end)
    return block[: end + 1], block[end + 1 :]


def _header(stream: Utf8Stream) -> bytes:
    """The first record, which ends at the first line break outside quotes."""
    sample = stream.sample()
    quotes = 0
    for place, mark in enumerate(sample):
        quotes += mark == '"'
        if mark == "\n" and quotes % 2 == 0 and sample[:place].strip():
            return sample[: place + 1].encode()
    return sample.encode()


def _with_decimal_points(table: pa.Table) -> pa.Table:
    columns = [
        pc.replace_substring_regex(column, pattern=r"^([+-]?\d+),(\d+)$", replacement=r"\1.\2")
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def _read_parquet(path: Path) -> pa.Table:
    with pq.ParquetFile(path, memory_map=True) as file:
        return file.read()


def _iter_parquet(path: Path, chunk_rows: int) -> Iterator[pa.Table]:
    with pq.ParquetFile(path) as file:
        batches = file.iter_batches(batch_size=chunk_rows)
        yield from _rechunked(file.schema_arrow, batches, chunk_rows)


def _read_arrow(path: Path) -> pa.Table:
    if _magic(path) == b"FEA1":  # the first Feather format is not an Arrow file
        return pyarrow.feather.read_table(path)
    with pa.memory_map(str(path)) as source:
        return _arrow_reader(path, source).read_all()


def _iter_arrow(path: Path, chunk_rows: int) -> Iterator[pa.Table]:
    if _magic(path) == b"FEA1":
        table = pyarrow.feather.read_table(path)
        yield from _rechunked(table.schema, table.to_batches(), chunk_rows)
        return
    with pa.memory_map(str(path)) as source:
        reader = _arrow_reader(path, source)
        if isinstance(reader, pa.ipc.RecordBatchFileReader):
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        else:
            batches = iter(reader)
        yield from _rechunked(reader.schema, batches, chunk_rows)


def _arrow_reader(path: Path, source: pa.NativeFile) -> pa.ipc.RecordBatchFileReader:
    return pa.ipc.open_file(source) if _magic(path) == b"ARRO" else pa.ipc.open_stream(source)


def _magic(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


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
    iterate: Callable[[Path, int], Iterator[pa.Table]]


_CSV = _Format("CSV", _read_csv, _iter_csv)
_JSON = _Format("JSON lines", read_json_lines, iter_json_lines)
_ARROW = _Format("Arrow", _read_arrow, _iter_arrow)
_FORMATS = {
    **dict.fromkeys([".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"], _CSV),
    **dict.fromkeys([".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"], _JSON),
    **dict.fromkeys([".arrow", ".feather"], _ARROW),
    ".parquet": _Format("Parquet", _read_parquet, _iter_parquet),
}


def _format_of(path: Path) -> _Format:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    ending = "".join(suffixes[-2:]) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])
    if ending not in _FORMATS:
        known = ", ".join(itertools.chain(_FORMATS))
        raise TableError(f'the name of "{path}" does not tell its format: give it one of the endings {known}')
    return _FORMATS[ending]
