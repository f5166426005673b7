"""From class scores to names: the likeliest class, and the verdict."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gditd.integrations.onnx.builder import GraphBuilder, Value
from gditd.integrations.onnx.operations import any_of_row, reduced


def likeliest(graph: GraphBuilder, ranking: Value) -> Value:
    """The number of the class that is largest, (n, 1); the first of several."""
    return graph("ArgMax", ranking, axis=1, keepdims=1, select_last_index=0)


def names_of(graph: GraphBuilder, numbers: Value, names: NDArray[np.str_]) -> Value:
    """(n, 1) numbers -> (n,) texts."""
    return graph("Gather", names, graph("Squeeze", numbers, np.array([1])))


def by_p_value(graph: GraphBuilder, ranking: Value, p: Value, alpha: Value, ood: int) -> Value:
    """The likeliest class that does not reject the row, or `ood` where all do, (n, 1)."""
    possible = graph("GreaterOrEqual", p, alpha)
    best = likeliest(graph, graph("Where", possible, ranking, np.float64(-np.inf)))
    return graph("Where", any_of_row(graph, possible), best, np.int64(ood))


def by_sign(graph: GraphBuilder, scores: Value, ood: int) -> Value:
    """The class with the largest zeta, or `ood` where every zeta is negative, (n, 1)."""
    outside = graph("Less", reduced(graph, "Max", scores, 1), np.float32(0))
    return graph("Where", outside, np.int64(ood), likeliest(graph, scores))
