"""Forests: the votes of all trees, exactly as gditd counts them, and what they say of a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gditd.integrations.onnx.builder import GraphBuilder, Operand, Value
from gditd.integrations.onnx.operations import as_double, between, bounded, reduced, side_by_side
from gditd.integrations.onnx.trees import Trees, sums_over_trees
from gditd.views.forest import Forest, MixedForest
from gditd.views.ranges import DEEPEST, Ranges
from gditd.views.trees import PackedForest

PARTS = 3
MANTISSA = 24  # bits of a float32


def votes(graph: GraphBuilder, features: Value, forest: Forest) -> Value:
    """The share of votes for each class, and with made-up rows one more, (n, classes) float64.

    ai.onnx.ml adds up in float32, which would round. So each leaf's share is cut into parts of so few bits that no
    sum over the trees needs more than a float32 has, in whatever order it is made. Most leaves are pure: they have
    one part.
    """
    packed = forest.trees
    n_trees, n_classes = len(packed.node_counts), packed.shares.shape[1]
    sums = as_double(graph, sums_over_trees(graph, features, trees_of(packed), PARTS * n_classes))
    parts = [between(graph, sums, part * n_classes, (part + 1) * n_classes) for part in range(PARTS)]
    total = graph("Add", graph("Add", parts[0], parts[1]), parts[2])
    return graph("Div", total, np.float64(n_trees))


def trees_of(packed: PackedForest) -> Trees:
    """A packed forest; target part * classes + c is a part of the share of class c."""
    counts = packed.node_counts
    tree = np.repeat(np.arange(len(counts)), counts)
    node = np.arange(len(tree)) - np.repeat(np.cumsum(counts) - counts, counts)
    left, right = packed.left.astype(np.int64), packed.right.astype(np.int64)
    leaves = np.flatnonzero(left == -1)
    parts = np.concatenate(exact_parts(packed.shares[right[leaves]], len(counts)), axis=1)  # (leaves, parts * classes)
    own, target = np.nonzero(parts)
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
        leaf_value=parts[own, target].astype(np.float32),
    )


def exact_parts(shares: NDArray[np.float32], n_trees: int) -> list[NDArray[np.float64]]:
    """Shares as a sum of parts, each a multiple of a power of two that n_trees of them add up to without rounding."""
    bits = MANTISSA - int(n_trees).bit_length()
    rest = shares.astype(np.float64)
    parts = []
    for number in range(1, PARTS + 1):
        unit = 2.0 ** (-bits * number)
        parts.append(np.round(rest / unit) * unit)
        rest = rest - parts[-1]
    return parts


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
    total: Operand = np.zeros((1, 1))
    for _ in range(DEEPEST):
        value = graph("GatherElements", features, graph("Gather", features_asked.astype(np.int64), place), axis=1)
        threshold, low, high, steepness, worth = columns_of(graph, graph("Gather", numbers, place), numbers.shape[1])
        outside = graph("Max", graph("Sub", low, value), graph("Sub", value, high))
        share = bounded(graph, graph("Mul", outside, steepness), np.float32(0), np.float32(1))
        total = graph("Add", total, reduced(graph, "Sum", as_double(graph, graph("Mul", worth, share)), 1))
        below = [graph("Gather", side, place) for side in children]
        place = graph("Where", graph("LessOrEqual", value, threshold), *below)
    return graph("Div", total, np.float64(len(first)))


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
