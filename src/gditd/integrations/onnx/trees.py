"""Trees as ai.onnx.ml has them: one list for each property of a node, and one entry for each value of a leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gditd.integrations.onnx.builder import GraphBuilder, Value

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Trees:
    """Nodes of many trees, and what leaves add to the targets.

    A row goes to `left` where its feature is at most the threshold. `tree` and `node` number a node; a leaf has no
    branches (`left` is -1). Each entry of a leaf says how much it adds to which target.
    """

    tree: Ints
    node: Ints
    left: Ints
    right: Ints
    feature: Ints
    threshold: NDArray[np.float32]
    leaf_tree: Ints
    leaf_node: Ints
    leaf_target: Ints
    leaf_value: NDArray[np.float32]


def sums_over_trees(graph: GraphBuilder, rows: Value, trees: Trees, n_targets: int) -> Value:
    """Each target's sum over all trees, (n, targets) float32."""
    is_leaf = trees.left == -1
    attributes: dict[str, Any] = {
        "n_targets": n_targets,
        "aggregate_function": "SUM",
        "post_transform": "NONE",
        "nodes_treeids": trees.tree,
        "nodes_nodeids": trees.node,
        "nodes_featureids": np.where(is_leaf, 0, trees.feature),
        "nodes_modes": np.where(is_leaf, b"LEAF", b"BRANCH_LEQ"),
        "nodes_values": np.where(is_leaf, np.float32(0), trees.threshold),
        "nodes_truenodeids": np.where(is_leaf, 0, trees.left),
        "nodes_falsenodeids": np.where(is_leaf, 0, trees.right),
        "target_treeids": trees.leaf_tree,
        "target_nodeids": trees.leaf_node,
        "target_ids": trees.leaf_target,
        "target_weights": trees.leaf_value,
    }
    return graph.with_long_attributes("TreeEnsembleRegressor", rows, attributes)
