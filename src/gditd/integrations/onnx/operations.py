"""What several parts of the graph do with tensors, in one line each."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from gditd.integrations.onnx.builder import GraphBuilder, Operand, Value


def as_double(graph: GraphBuilder, value: Value) -> Value:
    """In float64."""
    return graph("Cast", value, to=TensorProto.DOUBLE)


def as_single(graph: GraphBuilder, value: Value) -> Value:
    """In float32."""
    return graph("Cast", value, to=TensorProto.FLOAT)


def reduced(graph: GraphBuilder, how: str, value: Value, axis: int, *, keep: bool = True) -> Value:
    """The Sum, Mean, Max or Min along an axis."""
    return graph(f"Reduce{how}", value, np.array([axis]), keepdims=int(keep))


def picked(graph: GraphBuilder, value: Value, places: list[int]) -> Value:
    """Some columns, in this order."""
    return graph("Gather", value, np.array(places, dtype=np.int64), axis=1)


def between(graph: GraphBuilder, value: Value, start: int, end: int, *, axis: int = -1) -> Value:
    """Neighbouring columns, the last not included."""
    return graph("Slice", value, np.array([start]), np.array([end]), np.array([axis]))


def side_by_side(graph: GraphBuilder, values: list[Value], *, axis: int = 1) -> Value:
    """Tensors joined along an axis."""
    return values[0] if len(values) == 1 else graph("Concat", *values, axis=axis)


def bounded(graph: GraphBuilder, value: Value, low: np.generic, high: np.generic) -> Value:
    """Not below one number nor above another."""
    return graph("Clip", value, low, high)


def root(graph: GraphBuilder, value: Value) -> Value:
    """The square root of float32, rounded correctly: by way of float64, for not every runtime does it right itself."""
    return as_single(graph, graph("Sqrt", as_double(graph, value)))


def any_of_row(graph: GraphBuilder, flags: Value) -> Value:
    """Whether any flag of a row is set, (n, columns) -> (n, 1)."""
    counts = reduced(graph, "Max", graph("Cast", flags, to=TensorProto.INT32), 1)
    return graph("Cast", counts, to=TensorProto.BOOL)


def product(graph: GraphBuilder, left: Operand, right: Operand) -> Value:
    """A matrix product, or one for each member."""
    return graph("MatMul", left, right)
