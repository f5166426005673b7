"""Number columns to features, by the very operations of `gditd.tables.numbers`: the same bits come out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto
from torch import Tensor

from gditd.integrations.onnx.builder import GraphBuilder, Value
from gditd.integrations.onnx.operations import as_single, bounded, root
from gditd.tables.numbers import _FAR as FAR
from gditd.tables.numbers import LIMIT, SCORES_A_COLUMN, NumberModule, PiecewiseLinear, QuantileNormal

CELLS = SCORES_A_COLUMN // 2


@dataclass(frozen=True)
class EncodedNumbers:
    """Features (n, features) float32, and which numbers are missing (n, a)."""

    features: Value
    missing: Value


def encoded_numbers(graph: GraphBuilder, numbers: Value, module: NumberModule) -> EncodedNumbers:
    """(n, a) float64 with NaN for missing -> features."""
    centred = graph("Sub", numbers, module.centre.numpy().T)
    standardised = as_single(graph, graph("Div", centred, module.scale.numpy().T))
    missing = graph("IsNaN", standardised)
    known = graph("Where", missing, np.float32(0), standardised)
    if isinstance(module, QuantileNormal):
        scores = normal_scores(graph, within_float32(graph, known), module)
        return EncodedNumbers(graph("Where", missing, np.float32(0), scores), missing)
    if isinstance(module, PiecewiseLinear):
        return EncodedNumbers(ramps(graph, within_float32(graph, known), module), missing)
    return EncodedNumbers(bounded(graph, known, np.float32(-LIMIT), np.float32(LIMIT)), missing)


def within_float32(graph: GraphBuilder, value: Value) -> Value:
    """What was too large for float32 is far away, and finite."""
    for end in (np.inf, -np.inf):
        far = np.float32(np.copysign(FAR, end))
        value = graph("Where", graph("Equal", value, np.float32(end)), far, value)
    return value


def normal_scores(graph: GraphBuilder, value: Value, module: QuantileNormal) -> Value:
    """Each value's cell in the column's table, and the score between the cell's ends."""
    fourth_root = root(graph, root(graph, graph("Abs", value)))
    drawn = graph("Div", fourth_root, graph("Add", fourth_root, np.float32(1)))
    signed = graph("Mul", drawn, graph("Sign", value))
    place = graph("Add", graph("Mul", signed, np.float32(CELLS)), np.float32(CELLS))
    cell = graph("Floor", place)
    index = graph("Add", graph("Cast", cell, to=TensorProto.INT32), upright(module.first_cells))
    start, rise = (graph("Gather", table.numpy(), index) for table in (module.scores, module.rises))
    return graph("Add", start, graph("Mul", graph("Sub", place, cell), rise))


def ramps(graph: GraphBuilder, value: Value, module: PiecewiseLinear) -> Value:
    """In each bin a ramp from 0 to 1; outside the training range a column's outermost ramps go on, compressed."""
    inside = graph("Min", graph("Max", value, upright(module.lowest)), upright(module.highest))
    beyond = graph("Sub", value, inside)
    compressed = graph("Div", beyond, root(graph, graph("Add", graph("Abs", beyond), np.float32(1))))
    by_bin = graph("Gather", graph("Add", inside, compressed), module.columns.numpy(), axis=1)
    rising = graph("Mul", graph("Sub", by_bin, upright(module.starts)), upright(module.slopes))
    return graph("Min", graph("Max", rising, upright(module.floors)), upright(module.ceilings))


def upright(column: Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """A value for each column (a, 1) as a row of them (1, a)."""
    return column.numpy().T
