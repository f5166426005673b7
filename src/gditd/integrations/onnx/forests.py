"""Forests: the votes of all trees, exactly as gditd counts them, and what they say of a row."""

from __future__ import annotations

from functools import reduce

import numpy as np

from gditd.integrations.onnx.builder import GraphBuilder, Value
from gditd.integrations.onnx.operations import as_double, between, bounded, reduced, side_by_side
from gditd.integrations.onnx.trees import Trees, sums_over_trees
from gditd.views.forest import Forest, MixedForest
from gditd.views.ranges import DEEPEST, Ranges
from gditd.views.trees import SHARE_STEPS, PackedForest


def votes(graph: GraphBuilder, features: Value, forest: Forest) -> Value:
    """The share of votes for each class, and with made-up rows one more, (n, classes) float64.

    ai.onnx.ml adds up in float32. Shares are whole numbers of steps, of which a float32 has room for the sum.
    """
    packed = forest.trees
    sums = as_double(graph, sums_over_trees(graph, features, trees_of(packed), packed.shares.shape[1]))
    return graph("Div", sums, np.float64(SHARE_STEPS * len(packed.node_counts)))


def trees_of(packed: PackedForest) -> Trees:
    """A packed forest; a leaf's values are its shares, in steps."""
    tree, node = packed.tree_of_node, packed.number_in_tree
    left, right = packed.left.astype(np.int64), packed.right.astype(np.int64)
    leaves = np.flatnonzero(left == -1)
    shares = packed.shares[right[leaves]]
    own, target = np.nonzero(shares)
    return Trees(
        tree=tree,
        node=node,
        left=left,
        right=right,
        feature=packed.feature.astype(np.int64),
        threshold=packed.threshold,
        leaf_tree=tree[leaves[own]],
        leaf_node=node[leaves[own]],
        leaf_target=target,
        leaf_value=shares[own, target].astype(np.float32),
    )


def strangeness(graph: GraphBuilder, forest: Forest, features: Value, shares: Value) -> Value:
    """Entropy of the votes, (n, 1); a vote for "made up" counts like one that is spread evenly over all classes.

    Of a forest that knows made-up rows also how far outside the known ones' ranges a row lies, (n, 2).
    """
    if not isinstance(forest, MixedForest):
        return graph("Neg", reduced(graph, "Sum", times_own_log(graph, shares), 1))
    known = between(graph, shares, 0, forest.n_classes)
    made_up = graph("Mul", between(graph, shares, forest.n_classes, forest.n_classes + 1), np.log(forest.n_classes + 1))
    undecided = graph("Sub", made_up, reduced(graph, "Sum", times_own_log(graph, known), 1))
    return side_by_side(graph, [undecided, surprise(graph, features, forest.trees, forest.ranges)])


def surprise(graph: GraphBuilder, features: Value, trees: PackedForest, ranges: Ranges) -> Value:
    """How far outside the known rows' ranges rows lie on their way through trees, (n, 1): all trees, step by step.

    Each step goes one node deeper; a row that has left the nodes with ranges stays at an end of its own, where nothing
    is outside.
    """
    with_range = ranges.nodes_of(trees)
    tree = trees.tree_of_node[with_range]
    sizes = ranges.counts + 1
    first = (np.cumsum(sizes) - sizes)[: ranges.n_trees]
    end = np.cumsum(sizes) - 1
    children = [
        ranges.with_ends(
            np.where(side[with_range] < ranges.counts[tree], first[tree] + side[with_range], end[tree]), end
        )
        for side in trees.children
    ]
    thresholds, features_asked = (
        ranges.with_ends(values[with_range], 0) for values in (trees.threshold, trees.feature)
    )
    own = ranges.packed
    numbers = np.stack([thresholds, own["low"], own["high"], own["steepness"], own["worth"]], axis=1)
    n_rows = graph("Shape", features, start=0, end=1)
    place = graph("Expand", first[None], graph("Concat", n_rows, np.array([1]), axis=0))
    found = []
    for _ in range(DEEPEST):
        value = graph("GatherElements", features, graph("Gather", features_asked.astype(np.int64), place), axis=1)
        threshold, low, high, steepness, worth = columns_of(graph, graph("Gather", numbers, place), numbers.shape[1])
        outside = graph("Max", graph("Sub", low, value), graph("Sub", value, high))
        share = bounded(graph, graph("Mul", outside, steepness), np.float32(0), np.float32(1))
        found.append(graph("Mul", worth, share))
        below = [graph("Gather", side, place) for side in children]
        place = graph("Where", graph("LessOrEqual", value, threshold), *below)
    of_trees = reduce(lambda a, b: graph("Add", a, b), found)  # in float32, node after node, as the compiled walk does
    return graph("Div", reduced(graph, "Sum", as_double(graph, of_trees), 1), np.float64(len(first)))


def columns_of(graph: GraphBuilder, numbers: Value, n: int) -> list[Value]:
    """(n, trees, columns) -> each column, (n, trees)."""
    return [graph("Gather", numbers, np.int64(column), axis=2) for column in range(n)]


def times_own_log(graph: GraphBuilder, shares: Value) -> Value:
    """Shares times their logarithm, 0 where there are none."""
    least = graph("Max", shares, np.finfo(np.float64).tiny)
    return graph("Mul", shares, graph("Log", least))


def class_votes(graph: GraphBuilder, forest: Forest, shares: Value) -> Value:
    """The votes for known classes, as shares of 1."""
    known = between(graph, shares, 0, forest.n_classes)
    total = graph("Max", reduced(graph, "Sum", known, 1), np.finfo(np.float64).tiny)
    return graph("Div", known, total)
