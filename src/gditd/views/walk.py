"""The walk of rows through trees, compiled. Importing it takes a moment, so only what walks a forest does."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from gditd.views.compiling import compiled, filled, given, inlined

# What a step needs lies together in memory. A leaf's children are the leaf itself: a row that arrived stays there. It
# asks nothing, and has the number of its shares in the place of a threshold.
NODE = np.dtype([("threshold", np.float32), ("feature", np.uint32), ("left", np.uint32), ("right", np.uint32)])

# Where known rows lie in the column that a node asks for, and what a row outside is worth.
RANGE = np.dtype([("low", np.float32), ("high", np.float32), ("steepness", np.float32), ("worth", np.float32)])

LANES = 16  # rows that go through a tree side by side: while one waits for memory, the others step
SHARES = 8  # that are added up at a time: leaves have a multiple of it
BLOCK_VALUES = 131_072  # of rows that go through a tree before the next: both stay in the cache meanwhile


@inlined
def _child(node: Any, value: Any) -> Any:
    """Where a row goes from a node by its value there; what is not a number lies beyond every threshold."""
    return node.left if value <= node.threshold else node.right


@inlined
def _add(sums: NDArray[np.int32], row: Any, shares: NDArray[np.int16], leaf: Any) -> None:
    """Add a leaf's shares to a row's. The inner loop's length is known, so that it becomes a single instruction."""
    number = np.uint64(leaf.threshold)
    for first in range(np.uint64(0), np.uint64(shares.shape[1]), np.uint64(SHARES)):
        for place in range(SHARES):
            sums[row, first + np.uint64(place)] += shares[number, first + np.uint64(place)]


@inlined
def _surprise(own: Any, value: Any) -> Any:
    """What a value outside a node's range is worth. Without a branch: outside or not is hard to foretell."""
    outside = max(own.low - value, value - own.high)
    return own.worth * min(max(outside * own.steepness, np.float32(0)), np.float32(1))


def _walk(
    trees: tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int16]],
    tree_ranges: tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]],
    rows: NDArray[np.float32],
    sums: NDArray[np.int32],
    surprise: NDArray[np.float64],
) -> None:
    """Add up, tree after tree, what rows (n, features) meet on their way.

    That is the shares of the leaves they come to, `sums` (n, shares), and what the ranges on their way there say,
    `surprise` (n,): both start at nothing. `trees` are nodes, how many of them each tree has, and what shares leaves
    have. A tree's first nodes have ranges, as many as it counts; behind those follows one more, worth nothing, for all
    others. The third of `tree_ranges` is how many of them lie on the longest way through each tree.

    Nothing is checked: everything must fit. Places are unsigned, as an index that may be negative takes longer.
    """
    nodes, node_counts, shares = trees
    ranges, range_counts, range_depths = tree_ranges
    at, found = np.empty(LANES, np.uint32), np.empty(LANES, np.float32)
    values, width = rows.reshape(-1), np.uint64(rows.shape[1])
    block = max(BLOCK_VALUES // rows.shape[1] // LANES, 1) * LANES
    for first in range(0, len(rows), block):
        end = min(first + block, len(rows))
        start, range_start = 0, 0
        for number in range(len(node_counts)):
            count: Any = node_counts[number]
            n_ranges: Any = np.uint32(range_counts[number])
            tree = nodes[start : start + count]
            own = ranges[range_start : range_start + n_ranges + 1]
            start += count
            range_start += n_ranges + 1
            for group in range(first, end - LANES + 1, LANES):
                at[:] = 0
                found[:] = 0
                for _ in range(range_depths[number]):
                    row_start = np.uint64(group) * width
                    for lane in range(LANES):
                        place = at[lane]
                        node = tree[place]
                        value = values[row_start + node.feature]
                        found[lane] += _surprise(own[min(place, n_ranges)], value)
                        at[lane] = _child(node, value)
                        row_start += width
                for lane in range(LANES):
                    surprise[group + lane] += found[lane]
                moved = np.uint32(1)
                while moved:
                    moved = np.uint32(0)
                    row_start = np.uint64(group) * width
                    for lane in range(LANES):
                        node = tree[at[lane]]
                        child = _child(node, values[row_start + node.feature])
                        moved |= child ^ at[lane]
                        at[lane] = child
                        row_start += width
                for lane in range(LANES):
                    _add(sums, group + lane, shares, tree[at[lane]])
            for row in range(end - (end - first) % LANES, end):
                place, alone = np.uint32(0), np.float32(0)
                while tree[place].left != place:
                    value = rows[row, tree[place].feature]
                    alone += _surprise(own[min(place, n_ranges)], value)
                    place = _child(tree[place], value)
                surprise[row] += alone
                _add(sums, row, shares, tree[place])


def _find_ranges(
    trees: tuple[NDArray[Any], NDArray[np.int64]],
    rows: NDArray[np.float32],
    deepest: int,
    known: NDArray[np.int32],
    ends: tuple[NDArray[np.float32], NDArray[np.float32]],
) -> None:
    """How many of the rows (n, features) come to each node, `known`, and their lowest and highest value in its column.

    `trees` are nodes, and how many of them each tree has; `known` starts at nothing. Rows go no deeper than so many
    nodes, and leaves are not counted. Nothing is checked.
    """
    nodes, node_counts = trees
    low, high = ends
    start = 0
    for count in node_counts:
        tree = nodes[start : start + count]
        for row in range(len(rows)):
            place = np.uint32(0)
            for _ in range(deepest):
                if tree[place].left == place:
                    break
                at, value = start + place, rows[row, tree[place].feature]
                low[at] = value if known[at] == 0 else min(low[at], value)
                high[at] = value if known[at] == 0 else max(high[at], value)
                known[at] += 1
                place = _child(tree[place], value)
        start += count


walk = compiled(
    _walk,
    numba.types.Tuple((given(numba.from_dtype(NODE), 1), given(numba.int64, 1), given(numba.int16, 2))),
    numba.types.Tuple((given(numba.from_dtype(RANGE), 1), given(numba.int64, 1), given(numba.int64, 1))),
    given(numba.float32, 2),
    filled(numba.int32, 2),
    filled(numba.float64, 1),
)

find_ranges = compiled(
    _find_ranges,
    numba.types.Tuple((given(numba.from_dtype(NODE), 1), given(numba.int64, 1))),
    given(numba.float32, 2),
    numba.int64,
    filled(numba.int32, 1),
    numba.types.UniTuple(filled(numba.float32, 1), 2),
)
