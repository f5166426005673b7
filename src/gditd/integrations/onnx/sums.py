"""Sums over a row in float32, added in the order in which torch adds them.

Distances are differences of such sums, and rows are judged by comparing them with calibration scores, often with those
of equal rows: rounded otherwise in the last digit, a tie would be none. torch lets eight numbers at a time run beside
each other, on every processor of the x86 family. Where it has another order, the last digits differ and nothing else.
"""

from __future__ import annotations

from gditd.integrations.onnx.builder import GraphBuilder, Value
from gditd.integrations.onnx.operations import between

LANES = 8  # numbers that are added at the same time
ROUNDS = 4  # sums that a long sum is made of, taking turns


def sum_of_row(graph: GraphBuilder, value: Value, width: int) -> Value:
    """As `tensor.sum(-1, keepdim=True)`: (..., n, width) -> (..., n, 1)."""
    lanes = LANES if width >= LANES else 1
    vectors = width // lanes
    in_turn = vectors // ROUNDS * ROUNDS
    sums = []
    if in_turn:
        turns = added(graph, pieces(graph, value, 0, in_turn * lanes, ROUNDS * lanes))
        sums = pieces(graph, turns, 0, ROUNDS * lanes, lanes)
    left_over = pieces(graph, value, in_turn * lanes, vectors * lanes, lanes)
    sums = [added(graph, [*sums[:1], *left_over]), *sums[1:]] if left_over else sums
    tail = pieces(graph, value, vectors * lanes, width, 1)
    return added(graph, [*tail, *pieces(graph, added(graph, sums), 0, lanes, 1)])


def length_of_row(graph: GraphBuilder, value: Value, width: int) -> Value:
    """As `tensor.norm(dim=-1, keepdim=True)`: (..., n, width) -> (..., n, 1)."""
    squares = graph("Mul", value, value)
    whole = width // LANES * LANES
    sums = added(graph, pieces(graph, squares, 0, whole, LANES)) if whole else None
    lanes = pieces(graph, sums, 0, LANES, 1) if sums else []
    return graph("Sqrt", added(graph, [*lanes, *pieces(graph, squares, whole, width, 1)]))


def pieces(graph: GraphBuilder, value: Value, start: int, end: int, width: int) -> list[Value]:
    """The numbers from start to end of each row, in pieces of a width."""
    return [between(graph, value, first, first + width) for first in range(start, end, width)]


def added(graph: GraphBuilder, values: list[Value]) -> Value:
    """The sum, one after the other."""
    return values[0] if len(values) == 1 else graph("Sum", *values)
