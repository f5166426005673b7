"""A CSV stream cut into pieces, each of which any process can parse by itself.

Counting rows is cheap where every line is a row, and then a piece is a run of lines, parsed by whoever gets it. Where
quotes, blank lines or odd line ends leave the count to a parser, rows are parsed here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from .decimal_marks import with_remark
from .naming import counted_from, errors_about
from .pieces import Piece, TablePiece
from .text_stream import CsvShape, Utf8Stream, csv_shape

LABEL = "CSV"
_BLOCK_BYTES = 2 << 20  # every byte of it takes about ten while its rows are judged
_CACHED_BYTES = 1 << 18
_HEADER = re.compile(rb'\s*(?:[^"\r\n]|"[^"]*")+(?:\r\n|\r|\n)')

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CsvForm:
    """How a CSV is written, and the names of its columns."""

    path: Path
    shape: CsvShape
    names: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        """Every column as text."""
        schema = pa.schema([(name, pa.string()) for name in self.names])
        return with_remark(schema) if self.shape.decimal_point == "," else schema

    def parse(self, text: bytes, rows_before: int) -> pa.Table:
        """Parse lines of rows; a ragged one is counted from the start of the file, which has `rows_before` before."""
        # One thread, because only then does Arrow say which row is ragged; one block, to be one piece of memory.
        read = pyarrow.csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=self.names)
        options = csv_options(self.shape, dict.fromkeys(self.names, pa.string()))
        try:
            table = pyarrow.csv.read_csv(pa.BufferReader(text), read_options=read, **options)
        except pa.ArrowInvalid as error:
            if "Empty CSV file" in str(error):  # blank lines only
                return self.schema.empty_table()
            raise counted_from(rows_before, error) from None
        return table.replace_schema_metadata(self.schema.metadata)


@dataclass(frozen=True)
class CsvPiece:
    """Lines of a CSV that are a row each, not parsed yet."""

    text: bytes
    n_rows: int
    rows_before: int
    form: CsvForm

    @property
    def n_bytes(self) -> int:
        """How many bytes of text."""
        return len(self.text)

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return list(self.form.names)

    def table(self) -> pa.Table:
        """The rows, every column as text."""
        with errors_about(self.form.path, LABEL):
            return self.form.parse(self.text, self.rows_before)


def csv_options(
    shape: CsvShape, column_types: dict[str, pa.DataType] | None = None, only: list[str] | None = None
) -> dict[str, object]:
    """What to tell Arrow about a CSV, of which it may read some columns `only`."""
    return {
        "parse_options": pyarrow.csv.ParseOptions(delimiter=shape.delimiter, newlines_in_values=True),
        "convert_options": pyarrow.csv.ConvertOptions(
            strings_can_be_null=True,
            decimal_point=shape.decimal_point,
            column_types=column_types,
            include_columns=only,
        ),
    }


def csv_pieces(stream: Utf8Stream, path: Path, most_rows: int) -> Iterator[Piece]:
    """Cut a CSV into pieces of at most `most_rows` rows and a few megabytes; one without rows if there are none."""
    shape = csv_shape(path, stream.sample())
    header, rest = _header(stream)
    names = pyarrow.csv.read_csv(pa.BufferReader(header), **csv_options(shape)).schema.names
    form = CsvForm(path, shape, tuple(names))
    rows = 0
    for text in _whole_records(stream, rest):
        for piece in _cut(text, rows, most_rows, form):
            rows += piece.n_rows
            yield piece
    if not rows:
        yield TablePiece(form.schema.empty_table())


def _header(stream: Utf8Stream) -> tuple[bytes, bytes]:
    """The first record, and what was read beyond it. It ends at the first line break outside quotes."""
    text = b""
    while block := stream.read(_BLOCK_BYTES):
        text += block
        if found := _HEADER.match(text):
            return text[: found.end()], text[found.end() :]
    return text, b""


def _whole_records(stream: Utf8Stream, rest: bytes) -> Iterator[bytes]:
    """The stream in parts that end where a record does.

    Arrow's own block reader would read ahead in a thread that may hold the stream while Python shuts down.
    """
    while block := stream.read(_BLOCK_BYTES):
        if b'"' in rest:  # what is open at the end of the rest is closed in the block
            rest, block = b"", rest + block
        end = _last_record_end(block)
        if end:
            yield b"".join((rest, memoryview(block)[:end]))  # large, so copied but once
            rest = block[end:]
        else:
            rest += block
    if rest:
        yield rest


def _last_record_end(text: bytes) -> int:
    """The place after the last line break outside quotes, 0 if there is none."""
    if b'"' not in text:
        return max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
    marks = np.frombuffer(text, np.uint8)
    breaks = np.flatnonzero((marks == ord("\n")) | (marks == ord("\r")))
    quotes_before = np.searchsorted(np.flatnonzero(marks == ord('"')), breaks)
    outside = breaks[quotes_before % 2 == 0]
    return int(outside[-1]) + 1 if len(outside) else 0


def _cut(text: bytes, rows_before: int, most_rows: int, form: CsvForm) -> Iterator[Piece]:
    ends = _row_ends(text)
    if ends is None:
        table = form.parse(text, rows_before)
        for first in range(0, table.num_rows, most_rows):
            rows = table.slice(first, most_rows)
            yield TablePiece(rows, round(len(text) * rows.num_rows / table.num_rows))
        return
    start = 0
    for first in range(0, len(ends), most_rows):
        last = min(first + most_rows, len(ends)) - 1
        end = int(ends[last])
        yield CsvPiece(text[start:end], last + 1 - first, rows_before + first, form)
        start = end


def _row_ends(text: bytes) -> Places | None:
    """Where each row ends, or None where only a parser can tell rows from line breaks."""
    if b'"' in text:
        return None
    ends = _places_of("\n", text) + 1
    returns = b"\r" in text
    if returns and not text.count(b"\r") == text.count(b"\r\n") == len(ends):
        return None
    if not text.endswith(b"\n"):
        ends = np.append(ends, len(text))
    blank = 2 if returns else 1
    return ends if np.diff(ends, prepend=0).min() > blank else None


def _places_of(mark: str, text: bytes) -> Places:
    """Where a mark is, looked for in parts that the cache holds."""
    marks = np.frombuffer(text, np.uint8)
    starts = range(0, len(text), _CACHED_BYTES)
    found = [np.flatnonzero(marks[start : start + _CACHED_BYTES] == ord(mark)) + start for start in starts]
    return np.concatenate(found) if found else np.empty(0, np.int64)
