"""What the views see of a row: each a number, how strange it is, (n, 1) float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from gditd.integrations.onnx.builder import GraphBuilder, Value
from gditd.integrations.onnx.networks import array, picked_member, squared_distances
from gditd.integrations.onnx.operations import as_double, between, bounded, product, reduced
from gditd.integrations.onnx.sums import added, length_of_row
from gditd.nn.descriptor import LARGEST_DISTANCE
from gditd.views.base import MOST_MEMBERS, View
from gditd.views.looks import ABSURD
from gditd.views.mahalanobis import ColumnMahalanobis, HiddenMahalanobis, Mahalanobis
from gditd.views.prototypes import HiddenPrototypes, Prototypes
from gditd.views.rivals import NEAREST, ColumnRivals
from gditd.views.zeta import Disagreement, Zeta

SHORTEST = np.float32(1e-12)  # torch's normalize divides by no less


class Sight:
    """Rows as the views look at them: features, as the members are shown them, their layers and their mean zeta."""

    def __init__(
        self, graph: GraphBuilder, *, features: Value, inputs: Value, layers: list[Value], zeta: Value, members: int
    ):
        self.features, self.inputs = features, inputs
        self.mean_zeta = reduced(graph, "Mean", zeta, 0, keep=False)
        self._graph, self._layers, self._crowd = graph, layers, members > MOST_MEMBERS

    @property
    def embedding(self) -> Value:
        """By the first members."""
        return self._first(self._layers[-1])

    @property
    def hidden(self) -> Value:
        """The layer before the embedding, by the first members; the embedding where there is no other."""
        return self._first(self._layers[-2] if len(self._layers) > 1 else self._layers[-1])

    def _first(self, layer: Value) -> Value:
        if not self._crowd:
            return layer
        return between(self._graph, layer, 0, MOST_MEMBERS, axis=0)


def exportable(view: View) -> bool:
    """Whether `strangeness` knows the view."""
    return isinstance(view, Zeta | Mahalanobis | Prototypes | ColumnRivals) and not isinstance(view, Disagreement)


def strangeness(graph: GraphBuilder, view: View, sight: Sight) -> Value:
    """A view's score, (n, 1)."""
    if isinstance(view, Prototypes):
        scores = angle(graph, view.prototypes, sight.hidden if isinstance(view, HiddenPrototypes) else sight.embedding)
    elif isinstance(view, Mahalanobis):
        scores = distance(graph, view, sight)
    elif isinstance(view, ColumnRivals):
        scores = nearness_to_one(graph, view, sight.inputs)
    else:
        scores = graph("Neg", sight.mean_zeta)
    return finite(graph, as_double(graph, reduced(graph, "Min", scores, 1)))


def angle(graph: GraphBuilder, prototypes: Tensor, points: Value) -> Value:
    """One minus the cosine to the nearest prototype, averaged over members."""
    nearest = reduced(graph, "Max", product(graph, points, array(prototypes.mT)), -1)
    lengths = graph("Max", length_of_row(graph, points, prototypes.shape[-1]), np.finfo(np.float32).tiny)
    distances = graph("Sub", np.float32(1), graph("Div", nearest, lengths))
    return mean_over_members(graph, distances, np.float32(len(prototypes)))


def distance(graph: GraphBuilder, view: Mahalanobis, sight: Sight) -> Value:
    """The distance to each class mean, averaged over members."""
    if isinstance(view, ColumnMahalanobis):
        white = product(graph, sight.features, array(view.whitening[0]))
        return graph("Sqrt", squared_distances(graph, as_double(graph, white), array(view.centers[0].double())))
    points = (
        of_length_1(graph, sight.hidden, view.whitening.shape[-2])
        if isinstance(view, HiddenMahalanobis)
        else sight.embedding
    )
    white = product(graph, points, array(view.whitening))
    distances = graph("Sqrt", squared_distances(graph, as_double(graph, white), array(view.centers.double())))
    return mean_over_members(graph, distances, np.float64(len(view.centers)))


def nearness_to_one(graph: GraphBuilder, view: ColumnRivals, inputs: Value) -> Value:
    """The squared distance to the nearest class's prototypes, as a share of that to the next class's."""
    k, p, r = view.prototypes.shape
    if np.isfinite(view.farthest):
        inputs = bounded(graph, inputs, np.float32(-view.farthest), np.float32(view.farthest))
    points = graph("Sub", product(graph, inputs, array(view.axes)), array(view.origin))
    likeness = graph("Add", product(graph, points, array(view.prototypes.reshape(k * p, r).mT)), array(view.halved))
    of_class = graph("Reshape", likeness, np.array([-1, k, p]))
    classes = graph.second_of("TopK", reduced(graph, "Max", of_class, 2, keep=False), np.array([2]))
    place = graph("GatherElements", graph("ArgMax", of_class, axis=2, keepdims=0), classes, axis=1)
    number = graph("Add", graph("Mul", classes, np.int64(p)), place)
    two = graph("Gather", array(view.prototypes.reshape(k * p, r)), number)
    away = as_double(graph, graph("Sub", graph("Unsqueeze", points, np.array([1])), two))
    squared = reduced(graph, "Sum", graph("Mul", away, away), 2, keep=False)
    distances = graph("Add", graph("Min", squared, np.float64(LARGEST_DISTANCE)), np.float64(NEAREST))
    return graph("Div", *(reduced(graph, which, distances, 1) for which in ("Min", "Max")))


def of_length_1(graph: GraphBuilder, points: Value, width: int) -> Value:
    """Points scaled to length 1."""
    return graph("Div", points, graph("Max", length_of_row(graph, points, width), SHORTEST))


def mean_over_members(graph: GraphBuilder, values: Value, members: np.floating[Any]) -> Value:
    """(members, n, k) -> (n, k); how many members there are is given in the type of the values."""
    each = [picked_member(graph, values, member) for member in range(int(members))]
    return graph("Div", added(graph, each), members)


def finite(graph: GraphBuilder, value: Value) -> Value:
    """What overflowed on its way through the layers is absurd: nothing is stranger."""
    known = graph("Where", graph("IsNaN", value), np.float64(ABSURD), value)
    return bounded(graph, known, np.float64(-ABSURD), np.float64(ABSURD))
