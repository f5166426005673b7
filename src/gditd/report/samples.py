"""Bounded samples of rows that stream by: a random one of each class, and the strangest ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Kept:
    """Rows that were kept, with their numbers in the file from 1 and what was found out about each."""

    rows: pa.Table
    numbers: NDArray[np.int64]
    classes: NDArray[np.int64]
    flagged: NDArray[np.bool_]
    score: NDArray[np.float64]
    labels: NDArray[np.object_]
    order: NDArray[np.float64]  # rows with a smaller one are kept in preference

    def take(self, places: NDArray[np.int64]) -> Kept:
        """Some of the rows."""
        return Kept(
            self.rows.take(pa.array(places)),
            self.numbers[places],
            self.classes[places],
            self.flagged[places],
            self.score[places],
            self.labels[places],
            self.order[places],
        )

    def join(self, other: Kept) -> Kept:
        """Both, one after the other."""
        rows = pa.concat_tables([self.rows, other.rows])
        mine, its = ([k.numbers, k.classes, k.flagged, k.score, k.labels, k.order] for k in (self, other))
        return Kept(rows, *(np.concatenate(pair) for pair in zip(mine, its, strict=True)))


class Sample:
    """Keeps, of each group of rows, those with the smallest `order`, at most `room` of them."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._kept: Kept | None = None
        self._groups: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def add(self, new: Kept, groups: NDArray[np.int64]) -> None:
        """Look at further rows."""
        chosen = first_of_groups(groups, new.order, self._room)
        new, groups = new.take(chosen), groups[chosen]
        if self._kept is not None:
            new, groups = self._kept.join(new), np.concatenate([self._groups, groups])
            chosen = first_of_groups(groups, new.order, self._room)
            new, groups = new.take(chosen), groups[chosen]
        self._kept, self._groups = new, groups

    @property
    def kept(self) -> Kept:
        """The sample."""
        assert self._kept is not None, "no rows were added"
        return self._kept


def first_of_groups(groups: NDArray[np.int64], order: NDArray[np.float64], room: int) -> NDArray[np.int64]:
    """The places, ascending, of the `room` rows of each group that come first in order."""
    by_group = np.lexsort((order, groups))
    sorted_groups = groups[by_group]
    starts = np.searchsorted(sorted_groups, sorted_groups, side="left")
    return np.sort(by_group[np.arange(len(groups)) - starts < room])
