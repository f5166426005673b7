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

# Some rows come to a leaf long before others. All go so many steps more than there are doublings in a tree's nodes;
# then those that have not arrived go on among themselves, a few steps at a time.
STEPS_BEYOND = 9
MORE_STEPS = 4


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


# What follows passes on, as tuples: `way`, a tree's nodes, the values of rows and how many a row has; `together`, the
# first of a few rows and how many there are; `states`, for each row of a block, the node it is at, the rows that have
# not come to a leaf, and surprise; `room`, for each row of a few, its node, surprise and where its values start.


@inlined
def _through_ranges(way: Any, ranges: Any, together: Any, states: Any, room: Any) -> None:
    """Let a few rows go from the root, as many steps as ranges have a depth, and add up what these say."""
    tree, values, width = way
    own, depth = ranges
    first, lanes = together
    at, _, surprise = states
    place_of, found, _ = room
    beyond = np.uint32(len(own) - 1)
    for lane in range(lanes):
        place_of[lane] = 0
        found[lane] = 0
    for _ in range(depth):
        row_start = first * width
        for lane in range(lanes):
            place = place_of[lane]
            node = tree[place]
            value = values[row_start + node.feature]
            found[lane] += _surprise(own[min(place, beyond)], value)
            place_of[lane] = _child(node, value)
            row_start += width
    for lane in range(np.uint64(lanes)):
        at[first + lane] = place_of[lane]
        surprise[first + lane] += found[lane]


@inlined
def _some_steps(way: Any, n_steps: Any, together: Any, states: Any, room: Any) -> None:
    """Let a few of the rows that have not come to a leaf go on from where they are."""
    tree, values, width = way
    first, lanes = together
    at, waiting, _ = states
    place_of, _, starts = room
    for lane in range(np.uint64(lanes)):
        row = waiting[first + lane]
        place_of[lane] = at[row]
        starts[lane] = np.uint64(row) * width
    for _ in range(n_steps):
        for lane in range(lanes):
            node = tree[place_of[lane]]
            place_of[lane] = _child(node, values[starts[lane] + node.feature])
    for lane in range(np.uint64(lanes)):
        at[waiting[first + lane]] = place_of[lane]


@inlined
def _still_waiting(tree: NDArray[Any], states: Any, count: Any) -> Any:
    """How many rows have not come to a leaf; they move to the front of those that had not before.

    Without a branch, as above.
    """
    at, waiting, _ = states
    kept = np.uint64(0)
    for number in range(np.uint64(0), count):
        row = waiting[number]
        waiting[kept] = row
        kept += np.uint64(tree[at[row]].left != at[row])
    return kept


@inlined
def _first_steps(n_nodes: Any) -> Any:
    """How many steps all rows go in a tree before it is asked who has come to a leaf."""
    n_steps = STEPS_BEYOND
    while n_nodes > 1:
        n_nodes >>= 1
        n_steps += 1
    return n_steps


@inlined
def _through_tree(way: Any, ranges: Any, count: Any, states: Any, room: Any) -> None:
    """Let so many rows go from the root to their leaves, and add up what ranges on their way say.

    Whole groups are told apart from what is left: the compiler unrolls a loop whose length it knows.
    """
    tree, _, _ = way
    at, waiting, _ = states
    for row in range(np.uint32(count)):
        at[row] = 0
        waiting[row] = row
    n_waiting, n_steps = count, _first_steps(len(tree))
    if len(ranges[0]) > 1:
        for first in range(np.uint64(0), count, np.uint64(TOGETHER)):
            if first + np.uint64(TOGETHER) <= count:
                _through_ranges(way, ranges, (first, TOGETHER), states, room)
            else:
                _through_ranges(way, ranges, (first, count - first), states, room)
        n_waiting, n_steps = _still_waiting(tree, states, count), MORE_STEPS
    while n_waiting:
        for first in range(np.uint64(0), n_waiting, np.uint64(TOGETHER)):
            if first + np.uint64(TOGETHER) <= n_waiting:
                _some_steps(way, n_steps, (first, TOGETHER), states, room)
            else:
                _some_steps(way, n_steps, (first, n_waiting - first), states, room)
        n_waiting, n_steps = _still_waiting(tree, states, n_waiting), MORE_STEPS


def _walk(
    trees: tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int16]],
    tree_ranges: tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]],
    rows: NDArray[np.float32],
    whole: float,
    found: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Add up, tree after tree, what rows (n, features) meet on their way.

    That is the shares of the leaves they come to, as parts of `whole`, and what the ranges on their way there say:
    `found`, (n, classes) and (n,), of which the latter starts at nothing. `trees` are nodes, how many of them each tree
    has, and what shares leaves have, filled up to full lanes. A tree's first nodes have ranges, as many as it counts;
    behind those follows one more, worth nothing, for all others. The third of `tree_ranges` is how many of them lie on
    the longest way through each tree.

    Nothing is checked: everything must fit. Places are unsigned, as an index that may be negative takes longer.
    """
    nodes, node_counts, shares = trees
    ranges, range_counts, range_depths = tree_ranges
    votes, surprise = found
    width, said, n_shares = np.uint64(rows.shape[1]), shares.reshape(-1), np.uint64(shares.shape[1])
    block = max(BLOCK_VALUES // rows.shape[1] // TOGETHER, 1) * TOGETHER
    at, waiting = np.empty(block, np.uint32), np.empty(block, np.uint32)
    room = np.empty(TOGETHER, np.uint32), np.empty(TOGETHER, np.float32), np.empty(TOGETHER, np.uint64)
    sums = np.empty((min(block, len(rows)), shares.shape[1]), np.int32)  # of a block: they stay in the cache too
    totals = sums.reshape(-1)
    for start in range(0, len(rows), block):
        values = rows[start : start + block].reshape(-1)
        own_surprise = surprise[start : start + block]
        count = np.uint64(len(own_surprise))
        sums[: len(own_surprise)] = 0
        first_node, first_range = 0, 0
        for number in range(len(node_counts)):
            tree = nodes[first_node : first_node + node_counts[number]]
            own = ranges[first_range : first_range + range_counts[number] + 1]
            first_node += len(tree)
            first_range += len(own)
            states = (at, waiting, own_surprise)
            _through_tree((tree, values, width), (own, range_depths[number]), count, states, room)
            for row in range(count):
                _add(totals, row, said, tree[at[row]], n_shares)
        for row in range(len(own_surprise)):
            for number in range(votes.shape[1]):
                votes[start + row, number] = sums[row, number] / whole


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
    numba.float64,
    numba.types.Tuple((filled(numba.float64, 2), filled(numba.float64, 1))),
)

find_ranges = compiled(
    _find_ranges,
    numba.types.Tuple((given(numba.from_dtype(NODE), 1), given(numba.int64, 1))),
    given(numba.float32, 2),
    numba.int64,
    filled(numba.int32, 1),
    numba.types.UniTuple(filled(numba.float32, 1), 2),
)
