"""Input tables, chunk by chunk, and how many rows they may have."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gditd.processes import leave_ctrl_c_to_python
from gditd.tables import Piece, TableError, iter_csv, iter_csv_pieces, iter_pieces, iter_tables
from gditd.tables.errors import quoted

STDIN = Path("-")
CHUNK_ROWS = 16_384  # a wide table of texts takes much memory
SAMPLE_BYTES = 1 << 20


def chunks(path: Path, chunk_rows: int | None = None) -> Iterator[pa.Table]:
    """Read a table in constant memory; "-" is CSV on stdin."""
    leave_ctrl_c_to_python()
    chunk_rows = chunk_rows or CHUNK_ROWS
    if path == STDIN:
        return iter_csv(sys.stdin.buffer, "standard input", chunk_rows)
    return iter_tables(path, chunk_rows)


def pieces(path: Path) -> Iterator[Piece]:
    """Read a table in constant memory, in pieces that other processes can take on; "-" is CSV on stdin."""
    leave_ctrl_c_to_python()
    if path == STDIN:
        return iter_csv_pieces(sys.stdin.buffer, "standard input", CHUNK_ROWS)
    return iter_pieces(path, CHUNK_ROWS)


class RowCount:
    """The rows read of a table so far, and how many there will be: ever more exact, and never fewer than were read."""

    def __init__(self, path: Path) -> None:
        self.rows = 0
        self._bytes = 0
        self._complete = False
        self._expected = expected_rows(path)
        self._size = path.stat().st_size if path.is_file() else 0

    def counted(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        """Hand pieces on; a piece is counted when the next one is asked for."""
        for piece in pieces:
            yield piece
            self.rows += piece.n_rows
            self._bytes += piece.n_bytes
        self._complete = True

    @property
    def total(self) -> int | None:
        """The number of rows, as far as it is known."""
        if self._complete:
            return self.rows
        if self._expected is None:
            return None
        by_text = round(self.rows * self._size / self._bytes) if self._bytes else self._expected
        return max(self.rows, by_text)


def expected_rows(path: Path) -> int | None:
    """About how many rows a file has, for the progress bar; None where finding out would mean reading it."""
    name = path.name.lower()
    if not path.is_file():
        return None
    if name.endswith(".parquet"):
        try:
            return int(pq.read_metadata(path).num_rows)
        except (pa.ArrowException, OSError):  # reading it will say what is wrong
            return None
    if name.endswith((".csv", ".tsv", ".txt", ".jsonl", ".ndjson")):
        with path.open("rb") as file:
            sample = file.read(SAMPLE_BYTES)
        return round(path.stat().st_size * sample.count(b"\n") / len(sample)) if sample else None
    return None


def split_target(table: pa.Table, target: str) -> tuple[pa.Table, pa.ChunkedArray]:
    """The table without the target column, and that column."""
    if target not in table.column_names:
        raise TableError(f'there is no column "{target}" for --target: there are {quoted(table.column_names, 20)}')
    return table.drop_columns([target]), table.column(target)


def refuse_same_file(out: Path, *inputs: Path) -> None:
    """Refuse to write over an input."""
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise ValueError(f"--out {out} would replace the input {path}: choose another name")


def refuse_unwritable(out: Path) -> None:
    """Find out before the work, not after it, that a file cannot be written."""
    if out.is_dir():
        raise ValueError(f"--out {out} is a folder: give the name of a file in it")
    if not out.parent.is_dir():
        raise ValueError(f"cannot write {out}: there is no folder {out.parent}")
