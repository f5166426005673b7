"""JSON lines: one object a line, its keys the columns.

Arrow's own parser is fast but takes one type a column; where a chunk breaks that, Python's parser reads the
chunk, and a column of mixed types comes out as text.
"""

import io
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json

from .convert import rows_to_arrow
from .errors import TableError
from .text_stream import Utf8Stream

DEEPEST = 20  # lists and objects within each other; what is nested at all can only be ignored
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"')


def read_json_lines(path: Path) -> pa.Table:
    """Read a whole JSON-lines file."""
    with Utf8Stream(path) as stream:
        return _parsed(path, stream.read(), 0)


def iter_json_lines(path: Path, chunk_rows: int) -> Iterator[pa.Table]:
    """Read `chunk_rows` lines at a time. The first chunk's columns are in every chunk, null where absent."""
    columns: dict[str, pa.DataType] = {}
    done = 0
    with Utf8Stream(path) as stream:
        lines = (line for line in io.BufferedReader(_Readable(stream)) if line.strip())
        while chunk := list(itertools.islice(lines, chunk_rows)):
            table = _parsed(path, b"".join(chunk), done)
            columns = columns or dict(zip(table.column_names, table.schema.types, strict=True))
            for name in columns.keys() - set(table.column_names):
                table = table.append_column(name, pa.nulls(table.num_rows, columns[name]))
            yield table
            done += table.num_rows
    if not done:
        raise TableError(f'"{path}" is empty: it needs one JSON object a line')


class _Readable(io.RawIOBase):
    """The `readinto` that Python's buffered line reader wants, over a stream that only reads."""

    def __init__(self, stream: Utf8Stream) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        block = self._stream.read(len(buffer))
        buffer[: len(block)] = block
        return len(block)


def _parsed(path: Path, text: bytes, rows_before: int) -> pa.Table:
    if not text.strip():
        raise TableError(f'"{path}" is empty: it needs one JSON object a line')
    _refuse_deep(path, text, rows_before)
    try:
        return _with_texts(text, _arrow_rows(text))
    except pa.ArrowInvalid:
        return rows_to_arrow(_python_rows(path, text, rows_before))


def _arrow_rows(text: bytes, texts: pa.Schema | None = None) -> pa.Table:
    """The rows by Arrow's parser; it is told which columns are `texts`."""
    # One block, since Arrow refuses a line that lies across two of its blocks' ends.
    options = pyarrow.json.ReadOptions(use_threads=False, block_size=len(text) + 1)
    told = pyarrow.json.ParseOptions(explicit_schema=texts)
    return pyarrow.json.read_json(pa.BufferReader(text), read_options=options, parse_options=told)


def _with_texts(text: bytes, table: pa.Table) -> pa.Table:
    """The table with texts as they are written.

    Arrow makes moments of a column whose texts are all dates, which may be so in one chunk and not in the next.
    """
    moments = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
    if not moments:
        return table
    return _arrow_rows(text, pa.schema([(name, pa.string()) for name in moments])).select(table.column_names)


def _refuse_deep(path: Path, text: bytes, rows_before: int) -> None:
    """Refuse values in values in values: parsers follow them down, and crash where there is no end."""
    openings = text.count(b"{") + text.count(b"[")
    if openings <= text.count(b"\n") + DEEPEST:  # plain rows have one each
        return
    for number, line in enumerate((line for line in text.splitlines() if line.strip()), start=rows_before + 1):
        if line.count(b"{") + line.count(b"[") > DEEPEST and _depth(line) > DEEPEST:
            raise TableError(
                f'"{path}", row {number}: values within values more than {DEEPEST} deep: write plain values'
            )


def _depth(line: bytes) -> int:
    """How deep brackets are nested, those in texts left out."""
    marks = re.findall(rb"[\[\]{}]", _TEXT.sub(b"", line))
    return max(itertools.accumulate(1 if mark in b"[{" else -1 for mark in marks), default=0)


def _python_rows(path: Path, text: bytes, rows_before: int) -> list[dict[str, Any]]:
    rows = []
    lines = (line for line in text.splitlines() if line.strip())
    for number, line in enumerate(lines, start=rows_before + 1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise TableError(f'"{path}", row {number}: not valid JSON ({error}): repair that line') from None
        if not isinstance(row, dict):
            raise TableError(f'"{path}", row {number}: not a JSON object: write each row as {{"column": value}}')
        rows.append(row)
    return rows
