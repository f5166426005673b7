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

DEEPEST = 24  # node on the way from the root that may have a range
FEWEST_KNOWN = 8  # rows that have come to a node: the range of fewer tells little
FULL_WORTH = 0.5  # of the range's width beyond its end
NARROWEST = 1e-3  # half a width, on the scale of encoded columns: where all rows are equal, little more is outside

KINDS: dict[str, type[np.generic]] = {"counts": np.int64, "known": np.int32, "low": np.float32, "high": np.float32}


@dataclass(frozen=True, eq=False)
class Ranges:
    """Of the first nodes of each tree: how many known rows came to them, and their range in the node's column."""

    counts: NDArray[np.int64]  # (trees,) nodes of each tree that have a range
    known: NDArray[np.int32]  # (nodes with a range,), tree after tree
    low: NDArray[np.float32]
    high: NDArray[np.float32]

    @classmethod
    def of(cls, forest: PackedForest, rows: NDArray[np.float32], n_trees: int) -> tuple[PackedForest, Self]:
        """Send known rows (n, features) through some trees; in the forest returned, nodes with ranges come first."""
        from gditd.views.walk import find_ranges  # noqa: PLC0415 - takes a moment, and not every command needs it

        nodes, counts = forest.walkable(n_trees)
        known = np.zeros(len(nodes), dtype=np.int32)
        low, high = np.zeros((2, len(nodes)), dtype=np.float32)
        find_ranges((nodes, counts), forest.fitting(rows), DEEPEST, known, (low, high))
        enough = known >= FEWEST_KNOWN
        first = np.zeros(len(forest.left), dtype=np.bool_)
        first[: len(enough)] = enough
        own_counts = np.bincount(forest.tree_of_node[first], minlength=len(forest.node_counts))
        return forest.reordered(first), cls(own_counts, known[enough], low[enough], high[enough])

    def followed_by(self, other: Ranges) -> Ranges:
        """Return the ranges of both, for a forest that has the trees of both."""
        return Ranges(
            np.concatenate([self.counts, other.counts]),
            np.concatenate([self.known, other.known]),
            np.concatenate([self.low, other.low]),
            np.concatenate([self.high, other.high]),
        )

    @property
    def n_trees(self) -> int:
        """How many trees are looked at: the first ones, up to the last that has ranges."""
        return int(self.counts.nonzero()[0].max(initial=0)) + 1

    def nodes_of(self, forest: PackedForest) -> NDArray[np.bool_]:
        """Which of the forest's nodes have a range, (nodes,)."""
        first: NDArray[np.bool_] = forest.number_in_tree < np.repeat(self.counts, forest.node_counts)
        return first

    def with_ends(self, values: NDArray[Any], at_end: Any) -> NDArray[Any]:
        """Values of the nodes with ranges, and behind those of each tree one more, for all its other nodes."""
        return np.insert(values, np.cumsum(self.counts), at_end)

    @cached_property
    def packed(self) -> NDArray[Any]:
        """As the compiled walk takes them; where no known row came, outside is worth nothing."""
        from gditd.views.walk import RANGE  # noqa: PLC0415 - as above

        known, low, high = (self.with_ends(values, 0) for values in (self.known, self.low, self.high))
        packed = np.empty(len(known), dtype=RANGE)
        packed["low"], packed["high"] = low, high
        packed["steepness"] = 1 / np.maximum(FULL_WORTH * (high - low), np.float32(NARROWEST))
        packed["worth"] = np.log((np.maximum(known, 1) + 1) / 2)
        return packed

    def depths(self, forest: PackedForest) -> NDArray[np.int64]:
        """How many nodes with ranges lie on the longest way through each tree, (trees,)."""
        with_range, tree, first = self.nodes_of(forest), forest.tree_of_node, forest.first_of_tree
        left, right = forest.children
        depths = np.zeros(len(self.counts), dtype=np.int64)
        nodes = np.flatnonzero(with_range & (forest.number_in_tree == 0))
        for _ in range(DEEPEST):  # of a model file, whose nodes may share children: each is looked at once a level
            depths[tree[nodes]] += 1
            below = np.unique([first[nodes] + left[nodes], first[nodes] + right[nodes]])
            nodes = below[with_range[below]]
        return depths

    def state(self) -> dict[str, Tensor]:
        """All arrays, by name."""
        return {name: torch.from_numpy(getattr(self, name)) for name in KINDS}

    @classmethod
    def from_state(cls, tensors: dict[str, Tensor], forest: PackedForest) -> Self:
        """Undo `state`; ValueError where the arrays do not fit together or to the forest."""
        arrays = {name: np.require(tensors[name].numpy(), requirements=["C", "A"]) for name in KINDS}
        ranges = cls(**arrays)
        ranges._refuse_unsafe(forest)
        return ranges

    def _refuse_unsafe(self, forest: PackedForest) -> None:
        """Refuse what a walk would not end with: it takes the first nodes for inner ones."""
        if {name: getattr(self, name).dtype for name in KINDS} != KINDS:
            raise ValueError("the ranges in a forest's trees are not of the right types")
        if (
            self.counts.shape != forest.node_counts.shape
            or not ((self.counts >= 0) & (self.counts <= forest.node_counts)).all()
        ):
            raise ValueError("the ranges in a forest's trees do not fit its nodes")
        if any(values.shape != (self.counts.sum(),) for values in (self.known, self.low, self.high)):
            raise ValueError("the ranges in a forest's trees are not all there")
        if (forest.left[self.nodes_of(forest)] == -1).any():
            raise ValueError("a leaf of a forest's trees has a range")
        if not (np.isfinite(self.low).all() and np.isfinite(self.high).all()):
            raise ValueError("a range in a forest's trees is not finite")
