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
        kept = known >= FEWEST_KNOWN
        ends = np.cumsum(np.bincount(np.repeat(np.arange(len(counts)), counts)[kept], minlength=len(counts)))
        of_ends = np.zeros(len(counts))
        return cls(
            upper_parts(forest, kept),
            np.insert(known[kept], ends, of_ends.astype(np.int32)),
            np.insert(low[kept], ends, of_ends.astype(np.float32)),
            np.insert(high[kept], ends, of_ends.astype(np.float32)),
        )

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


def upper_parts(forest: PackedForest, kept: NDArray[np.bool_]) -> PackedForest:
    """The first trees with only some of their nodes, (nodes,), and all ways ending in one leaf that comes last.

    A node is kept only where its parent is.
    """
    counts = forest.node_counts[:MOST_TREES]
    tree = np.repeat(np.arange(len(counts)), counts)
    n_kept = np.bincount(tree[kept], minlength=len(counts))
    number = np.cumsum(kept) - 1 - (np.cumsum(n_kept) - n_kept)[tree]  # of a kept node in its tree
    number = np.where(kept, number, n_kept[tree]).astype(np.int32)
    own, first = tree[kept], np.cumsum(counts) - counts
    ends = np.cumsum(n_kept)
    children = [number[first[own] + side[: len(kept)][kept]] for side in (forest.left, forest.right)]
    return PackedForest(
        n_features=forest.n_features,
        node_counts=n_kept + 1,
        left=np.insert(children[0], ends, np.full(len(counts), -1, np.int32)),
        right=np.insert(children[1], ends, np.zeros(len(counts), np.int32)),
        feature=np.insert(forest.feature[: len(kept)][kept], ends, np.zeros(len(counts), np.int32)),
        threshold=np.insert(forest.threshold[: len(kept)][kept], ends, np.zeros(len(counts), np.float32)),
        shares=np.zeros((1, 1), np.float32),
    )
