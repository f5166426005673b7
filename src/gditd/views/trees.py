"""A forest as plain arrays: compact to keep, and walked by scikit-learn's compiled trees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.tree._tree import Tree
from torch import Tensor

from gditd.detectors.extra_trees import NODE_FIELDS, restored_tree

CHUNK = 8_192  # rows that go through all trees together: enough to outweigh the calls, and still in the cache


@dataclass(frozen=True, eq=False)
class PackedForest:
    """Trees one after another. A leaf has left child -1 and the number of its row in `shares` as its right child."""

    n_features: int
    node_counts: NDArray[np.int64]  # (trees,)
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    shares: NDArray[np.float32]  # (leaves, classes) class shares of each leaf

    @classmethod
    def of(cls, trees: list[Tree], n_features: int) -> PackedForest:
        """Take over what scikit-learn grew."""
        inner = [tree.children_left != -1 for tree in trees]
        leaves = np.cumsum([0, *((~own).sum() for own in inner)])
        right = [
            np.where(own, tree.children_right, np.cumsum(~own) - 1 + first)
            for tree, own, first in zip(trees, inner, leaves, strict=False)
        ]
        return cls(
            n_features=n_features,
            node_counts=np.array([tree.node_count for tree in trees], dtype=np.int64),
            left=np.concatenate([tree.children_left for tree in trees]).astype(np.int32),
            right=np.concatenate(right).astype(np.int32),
            feature=np.concatenate([np.maximum(tree.feature, 0) for tree in trees]).astype(np.int32),
            threshold=rounded_down(np.concatenate([tree.threshold for tree in trees])),
            shares=np.concatenate([tree.value[~own, 0] for tree, own in zip(trees, inner, strict=True)]).astype(
                np.float32
            ),
        )

    def class_shares(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Class shares (n, classes) of rows (n, features), averaged over trees."""
        found = np.zeros((len(rows), self.shares.shape[1]))
        for start in range(0, len(rows), CHUNK):
            chunk = np.ascontiguousarray(rows[start : start + CHUNK], dtype=np.float32)
            for tree, leaf_of_node in self._trees:
                found[start : start + CHUNK] += self.shares[leaf_of_node[tree.apply(chunk)]]
        return found / len(self._trees)

    @cached_property
    def _trees(self) -> list[tuple[Tree, NDArray[np.int32]]]:
        ends = np.cumsum(self.node_counts)
        return [self._tree(slice(end - count, end)) for count, end in zip(self.node_counts, ends, strict=True)]

    def _tree(self, own: slice) -> tuple[Tree, NDArray[np.int32]]:
        n_nodes = own.stop - own.start
        leaf = self.left[own] == -1
        nodes = {name: np.zeros(n_nodes, dtype=kind) for name, kind in NODE_FIELDS.items()}
        nodes |= {
            "left_child": self.left[own],
            "right_child": np.where(leaf, -1, self.right[own]),
            "feature": np.where(leaf, -2, self.feature[own]),
            "threshold": self.threshold[own].astype(np.float64),
        }
        # The shares are kept once for all trees: what scikit-learn would hold of them is a single zero a node.
        tree = restored_tree(nodes, np.zeros((n_nodes, 1, 1)), 0, self.n_features, 1)
        return tree, np.where(leaf, self.right[own], 0).astype(np.int32)

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
        arrays: dict[str, Any] = {name: tensor.numpy() for name, tensor in tensors.items()}
        forest = cls(**{**arrays, "n_features": int(arrays["n_features"][0])})
        counts, leaf = forest.node_counts, forest.left == -1
        if counts.ndim != 1 or (counts < 1).any() or counts.sum() != len(leaf) or forest.shares.ndim != 2:
            raise ValueError("the trees of a forest do not fit its nodes")
        leaves = forest.right[leaf]
        if len(leaves) and (leaves.min() < 0 or leaves.max() >= len(forest.shares)):
            raise ValueError("a tree's leaf lies outside its forest")
        return forest


def rounded_down(thresholds: NDArray[np.float64]) -> NDArray[np.float32]:
    """The largest float32 that is not above: a float32 row then takes the very same turns."""
    nearest = thresholds.astype(np.float32)
    above = nearest.astype(np.float64) > thresholds
    return np.where(above, np.nextafter(nearest, np.float32(-np.inf)), nearest)
