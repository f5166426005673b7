"""Two passes over a large table: one counts its labels, one checks all values and takes the rows to learn from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gditd.presets import Settings
from gditd.streaming.labels import as_class_labels
from gditd.streaming.parquet import LARGE, ParquetSource, Rows, joined
from gditd.streaming.quotas import class_quotas, drawn_places
from gditd.streaming.survey import Survey
from gditd.tables import TableError, TableSchema
from gditd.tables.columns import flat, is_text
from gditd.tables.errors import quoted

MOST_CLASSES = 100_000  # beyond, a column is no label


class Tell(Protocol):
    """Is told what is being done, how many rows of it are done, and how many there are."""

    def __call__(self, what: str, done: int, total: int) -> None:
        """Tell how far the work is."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows drawn from a large table, in its order: columns, labels, and what is known of all rows.

    `class_of_row` (n,) are places in `counts`, the numbers of rows that the classes have in the whole table.
    """

    table: pa.Table
    labels: pa.ChunkedArray
    class_of_row: NDArray[np.int64]
    counts: NDArray[np.int64]
    survey: Survey

    def totals(self, codes: NDArray[np.int64], n_classes: int) -> NDArray[np.int64]:
        """The rows of each class in the whole table, by the class numbers `codes` (n,) of the rows drawn."""
        totals = np.zeros(n_classes, np.int64)
        totals[codes] = self.counts[self.class_of_row]
        return totals


def draw_sample(
    source: ParquetSource,
    target: str,
    *,
    settings: Settings,
    alpha: float,
    seed: int,
    max_rows: int | None = None,
    tell: Tell | None = None,
) -> Sample:
    """Draw the rows that training with these settings would visit; rare classes are taken whole.

    The seed and the order of the rows alone decide which: files and row groups may be cut in any way.
    """
    if target not in source.columns:
        raise TableError(f'there is no column "{target}" to take as target: there are {quoted(source.columns, 20)}')
    most = max(int(LARGE / max(source.bytes_per_row, 1)), 1) if max_rows is None else max_rows
    counts = count_labels(source, target, tell or silent)
    totals = np.array(list(counts.values()), np.int64)
    places = [
        drawn_places(int(total), int(quota), np.random.default_rng([seed, number]))
        for number, (total, quota) in enumerate(zip(totals, class_quotas(totals, settings, alpha, most), strict=True))
    ]
    return take_rows(source, target, Picker(list(counts), totals, places), tell or silent)


def count_labels(source: ParquetSource, target: str, tell: Tell) -> dict[Any, int]:
    """The labels in the order of their first row, and how many rows have each."""
    counts: dict[Any, int] = {}
    done = 0
    for rows in source.batches([target]):
        own = labels_of(rows, target)
        counted = pc.value_counts(own)
        for label, count in zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True):
            counts[label] = counts.get(label, 0) + count
        if len(counts) > MOST_CLASSES:
            raise TableError(
                f'column "{target}" holds more than {MOST_CLASSES:,} different labels: take another column as target'
            )
        done += len(own)
        tell("counting", done, source.n_rows)
    if not counts:
        raise TableError(f'"{source.path}" has no rows to learn from: pass a table that has some')
    return counts


def labels_of(rows: Rows, target: str) -> pa.Array:
    """The labels of some rows; one that names no class is refused by its row."""
    return as_class_labels(rows.table.column(target), target, rows.at)


def take_rows(source: ParquetSource, target: str, picker: Picker, tell: Tell) -> Sample:
    """Check every value, and keep the rows that were drawn."""
    features = [name for name in source.columns if name != target]
    survey = Survey()
    kept: list[pa.Table] = []
    for rows in source.batches([*features, target]):
        own = labels_of(rows, target)
        survey.add(rows, features)
        chosen = picker.chosen(own)
        kept.append(rows.table.select(features).append_column(target, own).take(pa.array(chosen)))
        tell("reading", survey.n_rows, source.n_rows)
    table = joined(kept)
    texts = text_columns(table, features)
    if texts:
        survey.refuse_contradictions(TableSchema.learn(table.select(texts)))
    columns = with_ignored(table.select(features), source, target)
    return Sample(columns, table.column(target), np.concatenate(picker.classes), picker.totals, survey)


class Picker:
    """Walks along the rows and picks those whose place in their class was drawn.

    For each class: its label, how many rows it has, and the places of those to pick.
    """

    def __init__(self, labels: list[Any], totals: NDArray[np.int64], places: list[NDArray[np.int64]]) -> None:
        self.labels = labels
        self.totals = totals
        self.places = places
        self.passed = np.zeros(len(labels), np.int64)
        self.classes: list[NDArray[np.int64]] = []

    def chosen(self, labels: pa.Array) -> NDArray[np.int64]:
        """Which of the next rows to keep, in order."""
        codes = pc.index_in(labels, value_set=pa.array(self.labels, labels.type)).to_numpy(zero_copy_only=False)
        chosen = np.sort(np.concatenate([*self._of_classes(codes.astype(np.int64)), np.arange(0)]))
        self.classes.append(codes[chosen].astype(np.int64))
        return chosen

    def _of_classes(self, codes: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        by_class = np.argsort(codes, kind="stable")
        present, starts = np.unique(codes[by_class], return_index=True)
        for number, own in zip(present, np.split(by_class, starts[1:]), strict=True):
            before = self.passed[number]
            first, end = np.searchsorted(self.places[number], [before, before + len(own)])
            self.passed[number] += len(own)
            yield own[self.places[number][first:end] - before]


def text_columns(table: pa.Table, names: list[str]) -> list[str]:
    """The columns whose kind is not settled by their type."""
    return [name for name in names if is_text(flat(table.column(name).slice(0, 1)).type)]


def with_ignored(table: pa.Table, source: ParquetSource, target: str) -> pa.Table:
    """The columns in the order of the file. Those left out were not read: they come back empty, for their names."""
    for name in source.ignored:
        table = table.append_column(name, pa.nulls(table.num_rows))
    return table.select([name for name in source.names if name != target])


def silent(what: str, done: int, total: int) -> None:
    """Tell nobody."""
