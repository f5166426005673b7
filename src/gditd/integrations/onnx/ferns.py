"""Ferns: the answers of a row to all questions at once, and what they are worth."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from gditd.integrations.onnx.builder import GraphBuilder, Value
from gditd.integrations.onnx.operations import as_double, between, picked, product, reduced, side_by_side
from gditd.views.ferns import CELLS, QUESTIONS, STEPS, Ferns


def strangeness(graph: GraphBuilder, ferns: Ferns, features: Value) -> Value:
    """How unlikely a row is in the class that it is likeliest in, and how surprising, (n, 2) float64.

    What ferns say is whole numbers, and so few that float32 adds them up without rounding.
    """
    sums = reduced(graph, "Sum", graph("Cast", said(graph, ferns, features), to=TensorProto.FLOAT), 1, keep=False)
    n_classes = ferns.values.shape[1] - 1
    likeliest = reduced(graph, "Min", between(graph, sums, 0, n_classes), 1)
    both = side_by_side(graph, [likeliest, between(graph, sums, n_classes, n_classes + 1)])
    return graph("Div", as_double(graph, both), np.float64(STEPS * len(ferns.counts)))


def said(graph: GraphBuilder, ferns: Ferns, features: Value) -> Value:
    """The values that each fern has for a row, (n, ferns, classes + 1)."""
    n_ferns = len(ferns.counts)
    asked = picked(graph, features, ferns.features.ravel().tolist())
    # What is not a number lies above every threshold, as in a tree.
    below = graph("LessOrEqual", asked, ferns.thresholds.reshape(1, -1))
    answers = graph("Cast", graph("Not", below), to=TensorProto.FLOAT)
    of_fern = graph("Reshape", answers, np.array([-1, n_ferns, QUESTIONS]))
    bits = 2.0 ** np.arange(QUESTIONS - 1, -1, -1)
    cell = graph("Cast", product(graph, of_fern, bits.astype(np.float32)), to=TensorProto.INT64)
    cell = graph("Add", cell, np.arange(n_ferns)[None] * CELLS)
    own = graph("Cast", graph("Gather", ferns.entry_of_cell.ravel(), cell), to=TensorProto.INT64)
    return graph("Gather", ferns.values, graph("Add", own, ferns.first_entries[None]))
