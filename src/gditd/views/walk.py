"""The walk of rows through trees, compiled. Importing it takes a moment, so only what walks a forest does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

# What a step needs lies together in memory. A leaf's children are the leaf itself: a row that arrived stays there.
NODE = np.dtype([("threshold", np.float32), ("feature", np.uint32), ("left", np.uint32), ("right", np.uint32)])

# Where known rows lie in the column that a node asks for, and what a row outside is worth.
RANGE = np.dtype([("low", np.float32), ("high", np.float32), ("steepness", np.float32), ("worth", np.float32)])

LANES = 16  # rows that go through a tree side by side: while one waits for memory, the others step
BLOCK_VALUES = 131_072  # of rows that go through all trees before the next do: they and a tree stay in the cache

_Function = TypeVar("_Function", bound=Callable[..., Any])


def inlined(function: _Function) -> _Function:
    """Let compiled functions call this one."""
    return numba.njit(function)  # type: ignore[no-any-return]


def compiled(function: _Function, signature: object) -> _Function:
    """Compile at once, and keep the result for the next process where there is a folder to keep it in.

    That is beside this file, as Python keeps its own, or else in the user's cache: who can write there can change the
    program too.
    """
    try:
        return numba.njit(signature, nogil=True, cache=True)(function)  # type: ignore[no-any-return]
    except (RuntimeError, OSError):  # no folder may be written to, or the disk is full
        return numba.njit(signature, nogil=True)(function)  # type: ignore[no-any-return]


@inlined
def _block(rows: NDArray[np.float32]) -> Any:
    """How many rows go through all trees together."""
    return max(BLOCK_VALUES // rows.shape[1] // LANES, 1) * LANES


@inlined
def _child(tree: NDArray[Any], place: Any, rows: NDArray[np.float32], row: Any) -> Any:
    """Where a row goes from a place in a tree; what is not a number lies beyond every threshold."""
    node = tree[place]
    return node.left if rows[row, node.feature] <= node.threshold else node.right


@inlined
def _add(sums: NDArray[np.float64], row: Any, shares: NDArray[np.float32], leaf: Any) -> None:
    for c in range(shares.shape[1]):
        sums[row, c] += shares[leaf, c]


def _summed_shares(
    nodes: NDArray[Any],
    leaves: NDArray[np.uint32],
    node_counts: NDArray[np.int64],
    shares: NDArray[np.float32],
    rows: NDArray[np.float32],
) -> NDArray[np.float64]:
    """Add up (n, classes), tree after tree, the shares of the leaves that rows (n, features) come to.

    Nothing is checked: nodes, leaves and rows must fit. Places are unsigned, as an index that may be negative takes
    longer.
    """
    sums = np.zeros((len(rows), shares.shape[1]))
    at = np.empty(LANES, np.uint32)
    block = _block(rows)
    for first in range(0, len(rows), block):
        end = min(first + block, len(rows))
        start = 0
        for count in node_counts:
            tree, leaf = nodes[start : start + count], leaves[start : start + count]
            start += count
            for group in range(first, end - LANES + 1, LANES):
                own = rows[group : group + LANES]
                at[:] = 0
                moved = np.uint32(1)
                while moved:
                    moved = np.uint32(0)
                    for lane in range(LANES):
                        child = _child(tree, at[lane], own, np.uint64(lane))
                        moved |= child ^ at[lane]
                        at[lane] = child
                for lane in range(LANES):
                    _add(sums, group + lane, shares, leaf[at[lane]])
            for row in range(end - (end - first) % LANES, end):
                place = np.uint32(0)
                while tree[place].left != place:
                    place = _child(tree, place, rows, row)
                _add(sums, row, shares, leaf[place])
    return sums


@inlined
def _surprise(own: Any, value: Any) -> Any:
    """What a value outside a node's range is worth. Without a branch: outside or not is hard to foretell."""
    outside = max(own.low - value, value - own.high)
    return own.worth * min(max(outside * own.steepness, np.float32(0)), np.float32(1))


def _summed_surprise(
    nodes: NDArray[Any],
    node_counts: NDArray[np.int64],
    ranges: NDArray[Any],
    rows: NDArray[np.float32],
) -> NDArray[np.float64]:
    """Add up (n,), tree after tree, what the nodes that rows (n, features) come to say of them.

    A leaf says nothing: its worth must be 0. Nothing is checked.
    """
    sums = np.zeros(len(rows))
    at, found = np.empty(LANES, np.uint32), np.empty(LANES)
    block = _block(rows)
    for first in range(0, len(rows), block):
        end = min(first + block, len(rows))
        start = 0
        for count in node_counts:
            tree, own = nodes[start : start + count], ranges[start : start + count]
            start += count
            for group in range(first, end - LANES + 1, LANES):
                some = rows[group : group + LANES]
                at[:] = 0
                found[:] = 0
                moved = np.uint32(1)
                while moved:
                    moved = np.uint32(0)
                    for lane in range(LANES):
                        place = at[lane]
                        node = tree[place]
                        value = some[np.uint64(lane), node.feature]
                        found[lane] += _surprise(own[place], value)
                        child = node.left if value <= node.threshold else node.right
                        moved |= child ^ place
                        at[lane] = child
                for lane in range(LANES):
                    sums[group + lane] += found[lane]
            for row in range(end - (end - first) % LANES, end):
                place, alone = np.uint32(0), 0.0
                while tree[place].left != place:
                    alone += _surprise(own[place], rows[row, tree[place].feature])
                    place = _child(tree, place, rows, row)
                sums[row] += alone
    return sums


def _ranges_of_nodes(
    nodes: NDArray[Any], node_counts: NDArray[np.int64], rows: NDArray[np.float32], deepest: int
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]:
    """How many of the rows (n, features) come to each node, and their lowest and highest value in its column.

    They go no deeper than so many nodes, and leaves are not counted. Nothing is checked.
    """
    known = np.zeros(len(nodes), np.int32)
    low, high = np.zeros(len(nodes), np.float32), np.zeros(len(nodes), np.float32)
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
                place = _child(tree, place, rows, row)
        start += count
    return known, low, high


def _given(kind: Any, n_dimensions: int) -> Any:
    """The type of an array that is only read."""
    return numba.types.Array(kind, n_dimensions, "C", readonly=True)


summed_shares = compiled(
    _summed_shares,
    numba.float64[:, ::1](
        _given(numba.from_dtype(NODE), 1),
        _given(numba.uint32, 1),
        _given(numba.int64, 1),
        _given(numba.float32, 2),
        _given(numba.float32, 2),
    ),
)

summed_surprise = compiled(
    _summed_surprise,
    numba.float64[::1](
        _given(numba.from_dtype(NODE), 1),
        _given(numba.int64, 1),
        _given(numba.from_dtype(RANGE), 1),
        _given(numba.float32, 2),
    ),
)

ranges_of_nodes = compiled(
    _ranges_of_nodes,
    numba.types.Tuple((numba.int32[::1], numba.float32[::1], numba.float32[::1]))(
        _given(numba.from_dtype(NODE), 1), _given(numba.int64, 1), _given(numba.float32, 2), numba.int64
    ),
)
