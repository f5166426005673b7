"""Verdicts as answers: JSON, or the table that came in with the verdicts' columns behind its own."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import pyarrow as pa
from pydantic_core import to_json

from gditd.cli.tasks.writers import ArrowWriter, CsvWriter, Writer, arrow, parquet
from gditd.serve.formats import Format
from gditd.serve.scoring import Verdicts, as_documents
from gditd.tables import TableError
from gditd.tables.errors import quoted
from gditd.tables.typed import pointed, typed


def arrow_stream(file: BinaryIO) -> Writer:
    """A writer of Arrow streams."""
    return ArrowWriter(file, lambda out, first: pa.ipc.new_stream(out, first.schema))


_WRITERS: dict[Format, Callable[[BinaryIO], Writer]] = {
    Format.csv: CsvWriter,
    Format.parquet: parquet,
    Format.arrow_stream: arrow_stream,
    Format.arrow_file: arrow,
}


@dataclass
class Judged:
    """A piece of a table with its verdicts and what else was asked for."""

    table: pa.Table
    verdicts: Verdicts
    with_errors: bool
    reasons: list[list[str]] | None = None
    places: list[list[float]] | None = None
    notes: list[str] = field(default_factory=list)

    def documents(self) -> list[dict[str, Any]]:
        """One JSON object a row."""
        documents = as_documents(self.verdicts, with_errors=self.with_errors)
        if self.reasons is not None:
            for document, reason in zip(documents, self.reasons, strict=True):
                document["reason"] = reason
        if self.places is not None:
            for document, (x, y) in zip(documents, self.places, strict=True):
                document["x"], document["y"] = x, y
        return documents

    def columns(self) -> dict[str, pa.Array]:
        """The columns to add, as `gditd predict` writes them."""
        verdicts = self.verdicts
        columns = {
            "verdict": pa.array(verdicts.verdict, pa.string()),
            "known_class": pa.array(verdicts.known_class, pa.string()),
            "p_value": pa.array(verdicts.p_value, from_pandas=True),
            "ood_score": pa.array(verdicts.ood_score),
        }
        if self.with_errors:
            errors = [verdicts.errors.get(row) for row in range(len(verdicts))]
            columns["error"] = pa.array(errors, pa.string())
        if self.reasons is not None:
            columns["reason"] = pa.array(["; ".join(reason) or None for reason in self.reasons], pa.string())
        if self.places is not None:
            columns["x"] = pa.array([x for x, _ in self.places], pa.float64())
            columns["y"] = pa.array([y for _, y in self.places], pa.float64())
        return columns


def as_json(pieces: list[Judged]) -> bytes:
    """All verdicts as one JSON document; NaN, which JSON does not have, is null."""
    documents = [document for piece in pieces for document in piece.documents()]
    notes = pieces[0].notes if pieces else []
    return to_json({"verdicts": documents, "notes": notes} if notes else {"verdicts": documents}, inf_nan_mode="null")


def as_table(pieces: list[Judged], form: Format, kinds: dict[str, str]) -> bytes:
    """The table with its verdicts; formats that have types get those the model knows."""
    if not pieces:
        raise TableError("there are no rows, and so no columns to answer with: send at least one row")
    file = io.BytesIO()
    writer = _WRITERS[form](file)
    for piece in pieces:
        table = pointed(piece.table, kinds) if form == Format.csv else typed(piece.table, kinds)
        writer.write(with_columns(table, piece.columns()))
    writer.close()
    return file.getvalue()


def with_columns(table: pa.Table, columns: dict[str, pa.Array]) -> pa.Table:
    """The table with columns behind its own, unless it has one of them already."""
    taken = [name for name in table.column_names if name in columns]
    if taken:
        raise TableError(f"the table already has a column {quoted(taken)}, which the answer adds: rename it")
    for name, values in columns.items():
        table = table.append_column(name, values)
    return table
