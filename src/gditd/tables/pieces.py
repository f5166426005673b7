"""Rows of a table file in pieces that can be handed to another process."""

from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa


class Piece(Protocol):
    """Some neighbouring rows of a file: `n_rows` of them, which took `n_bytes` of its text (0 where it has none)."""

    @property
    def n_rows(self) -> int:
        """How many rows."""

    @property
    def n_bytes(self) -> int:
        """How many bytes of text."""

    @property
    def names(self) -> list[str]:
        """The columns' names."""

    def table(self) -> pa.Table:
        """The rows."""


@dataclass(frozen=True)
class TablePiece:
    """Rows that are parsed already."""

    rows: pa.Table
    n_bytes: int = 0

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return int(self.rows.num_rows)

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return list(self.rows.column_names)

    def table(self) -> pa.Table:
        """The rows."""
        return self.rows

    def __getstate__(self) -> dict[str, Any]:
        # Arrow's own form: pickling a slice of a table would take all of the table along.
        return {"rows": to_bytes(self.rows), "n_bytes": self.n_bytes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"rows": from_bytes(state["rows"])})


def to_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def from_bytes(stream: bytes) -> pa.Table:
    """Undo `to_bytes`, without copying."""
    with pa.ipc.open_stream(pa.BufferReader(stream)) as reader:
        return reader.read_all()
