"""Where in a forest's trees the known rows lie, and how far outside a new row does.

A node asks for one column. Where n known rows came to it, one more of their kind lies outside their range in that
column with a chance of 2 / (n + 1): to be the lowest or the highest of them all. Minus the logarithm of it is what a
row outside is worth, in full from half the range's width on. A row gathers what the nodes on its way say.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gditd.views.trees import PackedForest

MOST_TREES = 60  # that are looked at, from the root to DEEPEST: more are hardly better
DEEPEST = 24
FEWEST_KNOWN = 8  # rows that have come to a node: the range of fewer tells little
FULL_WORTH = 0.5  # of the range's width beyond its end
NARROWEST = 1e-3  # half a width, on the scale of encoded columns: where all rows are equal, little more is outside


@dataclass(frozen=True, eq=False)
class Ranges:
    """The upper parts of trees, and of each node how many known rows came to it and their range in its column.

    Every way through a tree ends in its last node, a leaf, to which no row came.
    """

    trees: PackedForest
    known: NDArray[np.int32]  # (nodes,)
    low: NDArray[np.float32]
    high: NDArray[np.float32]

    @classmethod
    def of(cls, forest: PackedForest, rows: NDArray[np.float32]) -> Self:
        """Send known rows (n, features) through a forest."""
        from gditd.views.walk import ranges_of_nodes  # noqa: PLC0415 - takes a moment, and not every command needs it

        nodes, counts = forest.walkable(MOST_TREES)
        known, low, high = ranges_of_nodes(nodes, counts, forest.fitting(rows), DEEPEST)
        upper = Upper(counts, known >= FEWEST_KNOWN)
        return cls(upper.parts(forest), upper.of(known), upper.of(low), upper.of(high))

    def surprise(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """What the nodes on their way say of rows (n, features), (n,), averaged over the trees."""
        from gditd.views.walk import summed_surprise  # noqa: PLC0415 - as above

        nodes, counts = self.trees.walkable()
        sums: NDArray[np.float64] = summed_surprise(nodes, counts, self._packed, self.trees.fitting(rows))
        return sums / len(counts)

    @property
    def worth(self) -> NDArray[np.float32]:
        """What a row outside is worth, (nodes,); nothing in leaves."""
        worth: NDArray[np.float64] = np.log((np.maximum(self.known, 1) + 1) / 2)
        return worth.astype(np.float32)

    @property
    def steepness(self) -> NDArray[np.float32]:
        """By how much of its worth a step outside counts, (nodes,)."""
        steepness: NDArray[np.float32] = 1 / np.maximum(FULL_WORTH * (self.high - self.low), np.float32(NARROWEST))
        return steepness

    @cached_property
    def _packed(self) -> NDArray[Any]:
        """What the compiled walk goes by."""
        from gditd.views.walk import RANGE  # noqa: PLC0415 - as above

        packed = np.empty(len(self.known), dtype=RANGE)
        for name in ("low", "high", "steepness", "worth"):
            packed[name] = getattr(self, name)
        return packed

    def state(self) -> dict[str, Tensor]:
        """All arrays, by name."""
        own = {name: torch.from_numpy(getattr(self, name)) for name in ("known", "low", "high")}
        return self.trees.state() | own

    @classmethod
    def from_state(cls, tensors: dict[str, Tensor]) -> Self:
        """Undo `state`; ValueError where the arrays do not fit together."""
        own = ("known", "low", "high")
        trees = PackedForest.from_state({name: value for name, value in tensors.items() if name not in own})
        ranges = cls(trees, *(tensors[name].numpy() for name in own))
        found = [(array.dtype, array.shape) for array in (ranges.known, ranges.low, ranges.high)]
        if found != [(np.dtype(kind), trees.left.shape) for kind in (np.int32, np.float32, np.float32)]:
            raise ValueError("the ranges in a forest's trees do not fit its nodes")
        if not (np.isfinite(ranges.low).all() and np.isfinite(ranges.high).all()):
            raise ValueError("a range in a forest's trees is not finite")
        return ranges


class Upper:
    """Nodes of the first trees that are kept, each only where its parent is, and a leaf behind those of each tree."""

    def __init__(self, counts: NDArray[np.int64], kept: NDArray[np.bool_]) -> None:
        self._counts, self._kept = counts, kept
        self._tree = np.repeat(np.arange(len(counts)), counts)
        self._n_kept = np.bincount(self._tree[kept], minlength=len(counts))

    def of(self, values: NDArray[Any], in_leaf: int = 0) -> NDArray[Any]:
        """What belongs to the nodes, of those that are kept and of the leaves."""
        return np.insert(values[: len(self._kept)][self._kept], np.cumsum(self._n_kept), in_leaf)

    def parts(self, forest: PackedForest) -> PackedForest:
        """The trees; all ways through one end in its leaf."""
        number = np.cumsum(self._kept) - 1 - (np.cumsum(self._n_kept) - self._n_kept)[self._tree]  # in its tree
        number = np.where(self._kept, number, self._n_kept[self._tree]).astype(np.int32)
        first = (np.cumsum(self._counts) - self._counts)[self._tree]
        left, right = (number[first + side[: len(first)]] for side in forest.children)
        return PackedForest(
            n_features=forest.n_features,
            node_counts=self._n_kept + 1,
            left=self.of(left, in_leaf=-1),
            right=self.of(right),
            feature=self.of(forest.feature),
            threshold=self.of(forest.threshold),
            shares=np.zeros((1, 1), np.float32),
        )
