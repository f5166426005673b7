"""The walk of rows through trees, compiled. Importing it takes a moment, so only what walks a forest does."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from gditd.views.compiling import compiled, filled, given, inlined
from gditd.views.lanes import LANES, add_lanes

# What a step needs lies together in memory. A leaf's children are the leaf itself: a row that arrived stays there. It
# asks nothing, and has the number of its shares in the place of a threshold.
NODE = np.dtype([("threshold", np.float32), ("feature", np.uint32), ("left", np.uint32), ("right", np.uint32)])

# Where known rows lie in the column that a node asks for, and what a row outside is worth.
RANGE = np.dtype([("low", np.float32), ("high", np.float32), ("steepness", np.float32), ("worth", np.float32)])

TOGETHER = 16  # rows that go through a tree side by side: while one waits for memory, the others step
BLOCK_VALUES = 131_072  # of rows that go through a tree before the next: both stay in the cache meanwhile


@inlined
def _child(node: Any, value: Any) -> Any:
    """Where a row goes from a node by its value there; what is not a number lies beyond every threshold."""
    return node.left if value <= node.threshold else node.right


@inlined
def _add(sums: NDArray[np.int32], row: Any, shares: NDArray[np.int16], leaf: Any, width: Any) -> None:
    """Add a leaf's shares, of which there are `width`, to a row's."""
    for first in range(np.uint64(0), width, np.uint64(LANES)):
        add_lanes(sums, np.uint64(row) * width + first, shares, np.uint64(leaf.threshold) * width + first)


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
    at, found = np.empty(TOGETHER, np.uint32), np.empty(TOGETHER, np.float32)
    values, width = rows.reshape(-1), np.uint64(rows.shape[1])
    totals, said, n_shares = sums.reshape(-1), shares.reshape(-1), np.uint64(shares.shape[1])
    block = max(BLOCK_VALUES // rows.shape[1] // TOGETHER, 1) * TOGETHER
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
            for group in range(first, end - TOGETHER + 1, TOGETHER):
                at[:] = 0
                found[:] = 0
                for _ in range(range_depths[number]):
                    row_start = np.uint64(group) * width
                    for lane in range(TOGETHER):
                        place = at[lane]
                        node = tree[place]
                        value = values[row_start + node.feature]
                        found[lane] += _surprise(own[min(place, n_ranges)], value)
                        at[lane] = _child(node, value)
                        row_start += width
                for lane in range(TOGETHER):
                    surprise[group + lane] += found[lane]
                moved = np.uint32(1)
                while moved:
                    moved = np.uint32(0)
                    row_start = np.uint64(group) * width
                    for lane in range(TOGETHER):
                        node = tree[at[lane]]
                        child = _child(node, values[row_start + node.feature])
                        moved |= child ^ at[lane]
                        at[lane] = child
                        row_start += width
                for lane in range(TOGETHER):
                    _add(totals, group + lane, said, tree[at[lane]], n_shares)
            for row in range(end - (end - first) % TOGETHER, end):
                place, alone = np.uint32(0), np.float32(0)
                while tree[place].left != place:
                    value = rows[row, tree[place].feature]
                    alone += _surprise(own[min(place, n_ranges)], value)
                    place = _child(tree[place], value)
                surprise[row] += alone
                _add(totals, row, said, tree[place], n_shares)


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
