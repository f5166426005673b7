"""What was scored, counted on the executors and read on the driver."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession

from gditd.verdict_columns import Tally

BATCH = -1  # of a DataFrame that is no stream

# Of every query (a text) the tallies of its last batch by partition, and of all batches before.
Counted = dict[str, "QueryCount"]


@dataclass
class QueryCount:
    """What one query has scored: by partition in its last batch, and by partition in all batches before that."""

    batch: int = BATCH
    last: dict[int, Tally] = field(default_factory=dict)
    before: dict[int, Tally] = field(default_factory=dict)

    def count(self, other: QueryCount) -> None:
        """Take in what tasks have scored.

        A task may run again, because its executor died or its result is asked for twice: the same partition of the
        same batch replaces what it counted before. Batches of a stream come one after the other, so only the last one
        has to be kept apart.
        """
        if other.batch < self.batch:
            return
        if other.batch > self.batch:
            add_up(self.before, self.last)
            self.batch, self.last = other.batch, {}
        self.last.update(other.last)

    def partitions(self) -> dict[int, Tally]:
        """The tally of every partition."""
        total: dict[int, Tally] = {}
        add_up(total, self.before)
        add_up(total, self.last)
        return total


def add_up(total: dict[int, Tally], more: dict[int, Tally]) -> None:
    """Add tallies of partitions to others."""
    for partition, tally in more.items():
        total.setdefault(partition, Tally()).add(tally)


class Counting(AccumulatorParam[Counted]):
    """How Spark joins what tasks have counted."""

    def zero(self, value: Counted) -> Counted:
        """Nothing yet."""
        return {}

    def addInPlace(self, value1: Counted, value2: Counted) -> Counted:
        """Take in what others have counted."""
        for query, counted in value2.items():
            value1.setdefault(query, QueryCount(counted.batch)).count(counted)
        return value1


@dataclass(frozen=True)
class Figures:
    """Rows scored: all, those called OOD, and those that could not be read (which are OOD too).

    `rows_of` and `ood_of` have them by the known class that a row is most like.
    """

    rows: int
    ood: int
    unread: int
    rows_of: dict[str, int]
    ood_of: dict[str, int]

    @classmethod
    def of(cls, tally: Tally) -> Figures:
        """Take the figures of a tally."""
        return cls(tally.rows, tally.flagged, tally.unread, dict(tally.rows_of), dict(tally.ood_of))


class ScoringMetrics:
    """Counts what `score(..., metrics=...)` scores: there once an action has run, and growing with a stream."""

    def __init__(self, spark: SparkSession) -> None:
        self._accumulator: Accumulator[Counted] = spark.sparkContext.accumulator({}, Counting())

    @property
    def accumulator(self) -> Accumulator[Counted]:
        """What tasks add to."""
        return self._accumulator

    def total(self) -> Figures:
        """All rows scored so far."""
        total = Tally()
        for tally in self._tallies().values():
            total.add(tally)
        return Figures.of(total)

    def partitions(self) -> dict[int, Figures]:
        """The same for each partition, by its number; batches of a stream are added up."""
        return {partition: Figures.of(tally) for partition, tally in sorted(self._tallies().items())}

    def _tallies(self) -> dict[int, Tally]:
        found: dict[int, Tally] = {}
        for query in self._accumulator.value.values():
            add_up(found, query.partitions())
        return found

    def __repr__(self) -> str:
        return f"ScoringMetrics({self.total()})"
