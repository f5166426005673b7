"""Columns whose values are not what they were in training, by a rule that leaves room for chance.

Four things are compared with what the model kept of its training table, and a column has drifted if one of them is
beyond its limit:

- values outside the training range, or categories that training did not have: 1 % of the values, or more where so many
  are to be expected;
- the middle: the median moved by a fifth of the range that held nine in ten of the training values, or a share (of
  true, of the most common category) by ten points;
- gaps: the share of missing values changed by five points.

Few rows differ by chance: each limit is at least three standard errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.stats import binom, norm

from gditd import GDITDClassifier
from gditd.explain.profiles import number, numeric_columns, percent, shortened
from gditd.tables import ColumnSchema, TableEncoder
from gditd.tables.columns import as_text
from gditd.tables.schema import MAX_KNOWN_CATEGORIES

NEW_VALUES, MOVED_MEDIAN, MOVED_SHARE, MOVED_GAPS = 0.01, 0.2, 0.1, 0.05
SURE = 3.0  # standard errors
MEDIAN_ROWS = 5_000  # medians are taken of a sample of this size
MOST_CELLS = 2_000_000

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """One thing that differs: what, in words, and how many times its limit it is."""

    words: str
    times_limit: float


@dataclass(frozen=True)
class ColumnDrift:
    """A column, its kind, the share of missing values, and what differs, most first."""

    column: str
    kind: str
    missing: float
    changes: tuple[Change, ...]

    @property
    def times_limit(self) -> float:
        """How far beyond the limits it is: above 1 it has drifted."""
        return max((change.times_limit for change in self.changes), default=0.0)


@dataclass
class Tally:
    """What is counted of one column: values that are there, new ones among them, and those of the watched kind."""

    present: int = 0
    new: int = 0
    watched: int = 0  # true, or of the category that was most common in training


class DriftWatch:
    """Counts, chunk by chunk, what `drifts` compares with training."""

    def __init__(self, model: GDITDClassifier) -> None:
        self._encoder: TableEncoder = model.model_.encoder
        self._profiles = model.model_.explainer.profiles
        self._used = self._encoder.schema_.used
        self._tallies = {column.name: Tally() for column in self._used}
        self._rows = 0
        self._rng = np.random.default_rng(0)
        self._places = {column.name: a for a, column in enumerate(numeric_columns(self._encoder.schema_))}
        width = len(self._places)
        self._room = max(100, min(MEDIAN_ROWS, MOST_CELLS // max(width, 1)))
        self._sample: Floats = np.empty((0, width))  # of the numbers, for their medians
        self._order: Floats = np.empty(0)

    def add(self, rows: pa.Table) -> None:
        """Look at further rows."""
        numbers = self._encoder.raw_tensors(rows)[0].numpy()
        for column in self._used:
            if column.kind == "category":
                self._count_categories(column, as_text(rows.column(column.name)))
            else:
                self._count_numbers(column, numbers[:, self._places[column.name]])
        self._rows += rows.num_rows
        sample = np.concatenate([self._sample, numbers])
        order = np.concatenate([self._order, self._rng.random(len(numbers))])
        first = np.sort(np.argsort(order, kind="stable")[: self._room])
        self._sample, self._order = sample[first], order[first]

    def _count_numbers(self, column: ColumnSchema, values: Floats) -> None:
        tally = self._tallies[column.name]
        known = values[~np.isnan(values)]
        tally.present += len(known)
        if column.kind == "boolean":
            tally.watched += int(known.sum())
        elif column.minimum is not None and column.maximum is not None:
            tally.new += int(((known < column.minimum) | (known > column.maximum)).sum())

    def _count_categories(self, column: ColumnSchema, texts: pa.Array) -> None:
        tally = self._tallies[column.name]
        known = texts.drop_null()
        tally.present += len(known)
        names = pa.array([text for text, _ in column.categories], known.type)
        if column.n_categories <= MAX_KNOWN_CATEGORIES:  # else some of training's are not kept
            tally.new += len(known) - int(pc.sum(pc.is_in(known, names)).as_py() or 0)
        if column.categories:
            tally.watched += int(pc.sum(pc.equal(known, column.categories[0][0])).as_py() or 0)

    def drifts(self) -> list[ColumnDrift]:
        """All columns, those that differ most from training first."""
        found = [self._drift(place, column) for place, column in enumerate(self._used)]
        return sorted(found, key=lambda drift: -drift.times_limit)

    def _median(self, place: int) -> float:
        values = self._sample[:, place]
        known = values[~np.isnan(values)]
        return float(np.median(known)) if len(known) else math.nan

    def _drift(self, place: int, column: ColumnSchema) -> ColumnDrift:
        tally = self._tallies[column.name]
        missing = 1 - tally.present / self._rows if self._rows else 0.0
        changes = [self._gaps(missing, float(self._profiles.missing[-1, place]))]
        if tally.present:
            changes.append(self._new_values(column, tally))
            if column.kind in ("category", "boolean"):
                changes.append(self._moved_share(column, tally))
            else:
                changes.append(self._moved_median(column, tally.present))
        beyond = sorted((c for c in changes if c.times_limit > 1), key=lambda change: -change.times_limit)
        return ColumnDrift(column.name, column.kind, missing, tuple(beyond))

    def _gaps(self, here: float, before: float) -> Change:
        limit = max(MOVED_GAPS, SURE * standard_error(before, self._rows))
        return Change(f"{percent(here)} missing, {percent(before)} in training", abs(here - before) / limit)

    def _new_values(self, column: ColumnSchema, tally: Tally) -> Change:
        share = tally.new / tally.present
        n = max(self._encoder.schema_.n_rows, 1)
        if column.kind == "category":
            # As many new ones are to be expected as training had of those that it saw once (Good and Turing).
            expected = sum(rows for _, rows in column.categories if rows == 1) / n
            words = f"{percent(share)} of the values are categories that training did not have"
        else:
            expected = 2 / (n + 1)
            words = f"{percent(share)} of the values lie outside the training range {range_text(column)}"
        by_chance = float(binom.ppf(norm.cdf(SURE), tally.present, expected)) / tally.present
        return Change(words, share / max(NEW_VALUES, by_chance))

    def _moved_share(self, column: ColumnSchema, tally: Tally) -> Change:
        share = tally.watched / tally.present
        if column.kind == "boolean":
            before, what = float(column.mean or 0.0), "true"
        else:
            known = max(round(self._encoder.schema_.n_rows * (1 - column.share_missing)), 1)
            before, what = column.categories[0][1] / known, f'"{shortened(column.categories[0][0])}"'
        limit = max(MOVED_SHARE, SURE * standard_error(before, tally.present))
        return Change(f"{percent(share)} {what}, {percent(before)} in training", abs(share - before) / limit)

    def _moved_median(self, column: ColumnSchema, present: int) -> Change:
        place = self._places[column.name]
        median = self._median(place)
        low, before, high = self._profiles.quantiles[-1, place].tolist()
        width = high - low
        if not width > 0 or math.isnan(median):
            return Change("", 0.0)
        # The standard error of a median of normal values, nine in ten of which lie within 3.29 standard deviations.
        error = 1.2533 / 3.29 / math.sqrt(min(present, self._room))
        moved = abs(median - before) / width
        words = f"median {moment_or_number(median, column)}, {moment_or_number(before, column)} in training"
        return Change(words, moved / max(MOVED_MEDIAN, SURE * error))


def standard_error(share: float, rows: int) -> float:
    """Of a share among so many rows."""
    return math.sqrt(share * (1 - share) / max(rows, 1))


def range_text(column: ColumnSchema) -> str:
    """The training range of a column of numbers or dates."""
    return f"{moment_or_number(column.minimum, column)} to {moment_or_number(column.maximum, column)}"


def moment_or_number(value: Any, column: ColumnSchema) -> str:
    """A value for people."""
    if column.kind == "datetime":
        return str(np.datetime64(int(value), "s")).replace("T00:00:00", "").replace("T", " ")
    return number(value)
