"""All rows of a large table, looked at once: values that cannot be, and what the rows learned from do not show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import pandas as pd
import pyarrow as pa

from gditd.streaming.parquet import Rows
from gditd.streaming.statistics import NumberStatistics, TextStatistics
from gditd.tables import TableError, TableSchema
from gditd.tables.columns import as_booleans, as_numbers, as_text, as_times, flat, is_number, is_text, is_time
from gditd.tables.errors import quoted
from gditd.tables.schema import seconds

Statistics = NumberStatistics | TextStatistics
_Kind = TypeVar("_Kind", NumberStatistics, TextStatistics)

KINDS_OF_TEXT = {"number": "numbers", "boolean": "true and false", "datetime": "dates or times"}


@dataclass
class Survey:
    """Statistics of every column over all rows."""

    n_rows: int = 0
    columns: dict[str, Statistics] = field(default_factory=dict)

    def add(self, rows: Rows, names: list[str]) -> None:
        """Look at some more rows; a value that no model can take is refused by file, column and row."""
        self.n_rows += rows.table.num_rows
        for name in names:
            self._add_column(name, flat(rows.table.column(name)), rows)

    def refuse_contradictions(self, sample: TableSchema) -> None:
        """Refuse text that the rows drawn let look like more than text, where other rows say that it is not."""
        for column in sample.columns:
            own = self.columns.get(column.name)
            if not isinstance(own, TextStatistics):
                continue
            if own.endless is not None and own.kind == "number":
                raise TableError(
                    f'column "{column.name}": {own.endless}, which is not a finite number: '
                    "correct it, or leave it empty if the value is not known"
                )
            if column.kind in own.witnesses:
                raise TableError(
                    f'column "{column.name}" holds {KINDS_OF_TEXT[column.kind]} in nearly all rows, but '
                    f"{own.witnesses[column.kind]}: correct it, leave it empty if the value is not known, or leave the "
                    f"column out with --ignore {column.name}"
                )

    def notes(self, learned: TableSchema) -> list[str]:
        """What is in the table, but not in the rows that the columns were learned from."""
        notes = []
        for column in learned.columns:
            own = self.columns.get(column.name)
            if own is None:
                continue
            if column.kind == "constant" and own.varies:
                notes.append(
                    f'column "{column.name}" has one value in all rows learned from, but others elsewhere: not used'
                )
            if column.kind == "category" and isinstance(own, TextStatistics):
                notes += unseen_categories(column.name, own, {text for text, _ in column.categories})
        return notes

    def table(self) -> pd.DataFrame:
        """Return the statistics, a column a row."""
        return pd.DataFrame([{"column": name, **described(own)} for name, own in self.columns.items()])

    def _add_column(self, name: str, array: pa.Array, rows: Rows) -> None:
        kind = array.type
        if is_text(kind):
            own = self._of(name, TextStatistics)
            own.add(as_text(array), rows.at)
            return
        if pa.types.is_boolean(kind):
            values, problems = as_booleans(array, name)
        elif is_time(kind):
            times, problems = as_times(array, name)
            values = seconds(times)
        elif is_number(kind):
            values, problems = as_numbers(array, name)
        elif pa.types.is_null(kind):
            self._nothing(name, len(array))
            return
        else:
            raise TableError(
                f'column "{name}" holds values of type {kind}, which cannot be learned from: split it into plain '
                f'columns, or leave it out with --ignore {name} (Python: ignore=["{name}"])'
            )
        if problems:
            first = min(problems, key=lambda problem: problem.row)
            raise TableError(
                f'{rows.at(first.row)}, column "{name}": {first.what}: correct it, or leave it empty if the value is '
                "not known"
            )
        self._of(name, NumberStatistics).add(NumberStatistics.of(values))

    def _of(self, name: str, kind: type[_Kind]) -> _Kind:
        own = self.columns.get(name)
        if not isinstance(own, kind):  # none yet, or of files in which the column holds nothing
            before = 0 if own is None else own.missing
            own = self.columns[name] = kind(missing=before)
        return own

    def _nothing(self, name: str, n_rows: int) -> None:
        self.columns.setdefault(name, NumberStatistics()).missing += n_rows


def unseen_categories(name: str, own: TextStatistics, known: set[str]) -> list[str]:
    """Say which categories of the table the rows learned from do not have; nothing where too many were counted."""
    unseen = [text for text in own.categories if text not in known]
    if not unseen or own.overflow:
        return []
    rows = sum(own.categories[text] for text in unseen)
    return [
        f'column "{name}": {len(unseen)} categories, in {rows:,} of {own.count + own.missing:,} rows, are not in the '
        f"rows learned from and count as never seen: {quoted(sorted(unseen))}"
    ]


def described(own: Statistics) -> dict[str, object]:
    """One column's statistics as plain values."""
    found: dict[str, object] = {"count": own.count, "missing": own.missing}
    if isinstance(own, NumberStatistics):
        found |= {"minimum": own.minimum, "maximum": own.maximum, "mean": own.mean, "std": own.std}
    else:
        found |= {"categories": None if own.overflow else len(own.categories)}
    return found
