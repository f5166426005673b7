"""A forest as plain arrays: compact to keep, and quick to walk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.tree._tree import Tree
from torch import Tensor

KINDS: dict[str, type[np.generic]] = {
    "n_features": np.int64,
    "node_counts": np.int64,
    "left": np.int32,
    "right": np.int32,
    "feature": np.int32,
    "threshold": np.float32,
    "shares": np.int16,
}

# A leaf's shares are whole numbers of this part of 1: what trees say adds up to the same in whatever order. A float32
# has room for the sum of all trees that a forest may have, so that holds for an exported graph too.
SHARE_STEPS = 16_384
MOST_TREES = 1_024
MOST_SHARES = 1 << 24  # that differ: float32 tells so many numbers apart


@dataclass(frozen=True, eq=False)
class PackedForest:
    """Trees one after another. A leaf has left child -1 and the number of its row in `shares` as its right child.

    Most leaves have rows of one class only, so the forest has far fewer different shares than leaves.
    """

    n_features: int
    node_counts: NDArray[np.int64]  # (trees,)
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    shares: NDArray[np.int16]  # (different ones, classes), in steps of 1 / SHARE_STEPS

    @classmethod
    def of(cls, trees: list[Tree], n_features: int) -> PackedForest:
        """Take over what scikit-learn grew."""
        inner = [tree.children_left != -1 for tree in trees]
        of_leaves = [in_steps(tree.value[~own, 0]) for tree, own in zip(trees, inner, strict=True)]
        shares, numbers = distinct(np.concatenate(of_leaves))
        right = np.concatenate([tree.children_right for tree in trees])
        right[~np.concatenate(inner)] = numbers
        return cls(
            n_features=n_features,
            node_counts=np.array([tree.node_count for tree in trees], dtype=np.int64),
            left=np.concatenate([tree.children_left for tree in trees]).astype(np.int32),
            right=right.astype(np.int32),
            feature=np.concatenate([np.maximum(tree.feature, 0) for tree in trees]).astype(np.int32),
            threshold=rounded_down(np.concatenate([tree.threshold for tree in trees])),
            shares=shares,
        )

    def followed_by(self, other: PackedForest) -> PackedForest:
        """Return the trees of both."""
        leaves = np.where(other.left == -1, len(self.shares), 0).astype(np.int32)
        return replace(
            self,
            node_counts=np.concatenate([self.node_counts, other.node_counts]),
            left=np.concatenate([self.left, other.left]),
            right=np.concatenate([self.right, other.right + leaves]),
            feature=np.concatenate([self.feature, other.feature]),
            threshold=np.concatenate([self.threshold, other.threshold]),
            shares=np.concatenate([self.shares, other.shares]),
        )

    def walked(
        self, rows: NDArray[np.float32], ranges: tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Class shares (n, classes) of rows (n, features), averaged over trees, and what ranges say, (n,), added up.

        `ranges` are those of each tree's first nodes, as the compiled walk takes them, how many a tree has, and how
        many lie on the longest way through it.
        """
        from gditd.views.walk import RANGE, walk  # noqa: PLC0415 - takes a moment, and not every command needs it

        n_trees = len(self.node_counts)
        trees = (self._nodes, self.node_counts, self._padded_shares)
        none = np.zeros(n_trees, dtype=RANGE), np.zeros(n_trees, dtype=np.int64), np.zeros(n_trees, dtype=np.int64)
        votes, surprise = np.empty((len(rows), self.shares.shape[1])), np.zeros(len(rows))
        walk(trees, ranges or none, self.fitting(rows), SHARE_STEPS * n_trees, (votes, surprise))
        return votes, surprise

    def fitting(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return rows as the compiled walk takes them; ValueError where they do not have the forest's width."""
        if rows.shape[1:] != (self.n_features,):
            raise ValueError(f"the forest takes rows of {self.n_features} features, got shape {rows.shape}")
        return np.require(rows, np.float32, ["C", "A"])

    def walkable(self, most: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Nodes and node counts of the first trees, as the compiled walk takes them."""
        counts = self.node_counts[:most]
        return self._nodes[: counts.sum()], counts

    @cached_property
    def _nodes(self) -> NDArray[Any]:
        """What the compiled walk goes by."""
        from gditd.views.walk import NODE  # noqa: PLC0415 - as above

        leaf = self.left == -1
        nodes = np.empty(len(self.left), dtype=NODE)
        nodes["threshold"] = np.where(leaf, self.right, self.threshold)
        nodes["feature"] = np.where(leaf, 0, self.feature)
        nodes["left"], nodes["right"] = self.children
        return nodes

    @cached_property
    def _padded_shares(self) -> NDArray[np.int16]:
        """Filled up to as many as the compiled walk adds up at a time."""
        from gditd.views.lanes import in_lanes  # noqa: PLC0415 - as above

        return np.pad(self.shares, ((0, 0), (0, in_lanes(self.shares.shape[1]) - self.shares.shape[1])))

    @property
    def children(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Each node's two, by their numbers in the tree; a leaf is its own child, so that a row stays there."""
        leaf, number = self.left == -1, self.number_in_tree
        return np.where(leaf, number, self.left), np.where(leaf, number, self.right)

    @property
    def tree_of_node(self) -> NDArray[np.int64]:
        """The number of every node's tree."""
        return np.repeat(np.arange(len(self.node_counts)), self.node_counts)

    @property
    def first_of_tree(self) -> NDArray[np.int64]:
        """Where the tree of every node starts."""
        return np.repeat(np.cumsum(self.node_counts) - self.node_counts, self.node_counts)

    @property
    def number_in_tree(self) -> NDArray[np.int64]:
        """Of every node: children are given by it."""
        return np.arange(len(self.left)) - self.first_of_tree

    def reordered(self, first: NDArray[np.bool_]) -> PackedForest:
        """Return the same with some nodes (nodes,) in front of their tree's others; a node's parent is one of them."""
        order = np.lexsort((~first, self.tree_of_node))
        number = np.empty_like(order)
        number[order] = self.number_in_tree
        left, right = (number[self.first_of_tree + side] for side in self.children)
        leaf = self.left == -1
        return replace(
            self,
            left=np.where(leaf, -1, left).astype(np.int32)[order],
            right=np.where(leaf, self.right, right).astype(np.int32)[order],
            feature=self.feature[order],
            threshold=self.threshold[order],
        )

    def state(self) -> dict[str, Tensor]:
        """All arrays, by name."""
        arrays = {
            "n_features": np.array([self.n_features]),
            "node_counts": self.node_counts,
            "left": self.left,
            "right": self.right,
            "feature": self.feature,
            "threshold": self.threshold,
            "shares": self.shares,
        }
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    @classmethod
    def from_state(cls, tensors: dict[str, Tensor]) -> PackedForest:
        """Undo `state`; ValueError where the arrays do not fit together."""
        arrays: dict[str, Any] = {
            name: np.require(tensor.numpy(), requirements=["C", "A"]) for name, tensor in tensors.items()
        }
        if {name: array.dtype for name, array in arrays.items()} != KINDS:
            raise ValueError("the trees of a forest are not of the right types")
        forest = cls(**{**arrays, "n_features": int(arrays["n_features"][0])})
        forest._refuse_unsafe()
        return forest

    def _refuse_unsafe(self) -> None:
        """Refuse nodes that point outside their tree or upwards, where a row would go in circles: no walk checks."""
        counts, columns = self.node_counts, (self.left, self.right, self.feature, self.threshold)
        if any(array.ndim != 1 for array in (counts, *columns)) or self.shares.ndim != 2 or self.n_features < 1:
            raise ValueError("the arrays of a forest have the wrong dimensions")
        n_nodes = len(self.left)
        if len(counts) > MOST_TREES:
            raise ValueError(f"a forest has at most {MOST_TREES} trees, got {len(counts)}")
        if len(self.shares) > MOST_SHARES:
            raise ValueError(f"a forest has at most {MOST_SHARES:,} different leaves, got {len(self.shares):,}")
        # Each count is looked at before they are added up: huge ones could overflow to the right sum.
        if not len(counts) or counts.min() < 1 or counts.max() > n_nodes or counts.sum() != n_nodes:
            raise ValueError("the trees of a forest do not fit its nodes")
        if any(len(column) != n_nodes for column in columns):
            raise ValueError("the nodes of a forest are not all there")
        leaf = self.left == -1
        inner = ~leaf
        number, n_own = self.number_in_tree[inner], np.repeat(counts, counts)[inner]
        for child in (self.left[inner], self.right[inner]):
            if not ((number < child) & (child < n_own)).all():
                raise ValueError("a tree's node has a child outside the nodes below it")
        if not ((self.feature[inner] >= 0) & (self.feature[inner] < self.n_features)).all():
            raise ValueError("a tree asks for a feature that its forest does not have")
        if not ((self.right[leaf] >= 0) & (self.right[leaf] < len(self.shares))).all():
            raise ValueError("a tree's leaf lies outside its forest")
        if self.shares.size and (self.shares.min() < 0 or self.shares.max() > SHARE_STEPS):
            raise ValueError("a share of a tree's leaf is not between 0 and 1")


def rounded_down(thresholds: NDArray[np.float64]) -> NDArray[np.float32]:
    """The largest float32 that is not above: a float32 row then takes the very same turns."""
    nearest = thresholds.astype(np.float32)
    above = nearest.astype(np.float64) > thresholds
    return np.where(above, np.nextafter(nearest, np.float32(-np.inf)), nearest)


def in_steps(shares: NDArray[np.float64]) -> NDArray[np.int16]:
    """Shares of 1 as whole numbers of steps."""
    return np.rint(shares * SHARE_STEPS).astype(np.int16)


def distinct(shares: NDArray[np.int16]) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    """The different ones among leaves' shares (leaves, classes), and which of them each leaf has.

    Leaves of one class come first: they are nearly all, and found without sorting.
    """
    n_classes = shares.shape[1]
    of_one = np.identity(n_classes, dtype=np.int16) * np.int16(SHARE_STEPS)
    numbers = shares.argmax(axis=1)
    mixed = np.flatnonzero(shares[np.arange(len(shares)), numbers] < SHARE_STEPS)
    others, places = np.unique(shares[mixed], axis=0, return_inverse=True)
    numbers[mixed] = n_classes + places.ravel()
    return np.concatenate([of_one, others]), numbers
