"""What the views see of a row: each a number, how strange it is, (n, 1) float64."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from gditd.integrations.onnx.builder import GraphBuilder, Value
from gditd.integrations.onnx.networks import array, picked_member, squared_distances
from gditd.integrations.onnx.operations import as_double, between, bounded, product, reduced
from gditd.integrations.onnx.sums import added, length_of_row
from gditd.views.base import MOST_MEMBERS, View
from gditd.views.looks import ABSURD
from gditd.views.mahalanobis import ColumnMahalanobis, HiddenMahalanobis, Mahalanobis
from gditd.views.prototypes import HiddenPrototypes, Prototypes
from gditd.views.zeta import Disagreement, Zeta

SHORTEST = np.float32(1e-12)  # torch's normalize divides by no less


class Sight:
    """Rows as the views look at them: features, the members' layers, and zeta averaged over members."""

    def __init__(self, graph: GraphBuilder, features: Value, layers: list[Value], mean_zeta: Value, members: int):
        self.features, self.mean_zeta = features, mean_zeta
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
    return isinstance(view, Zeta | Mahalanobis | Prototypes) and not isinstance(view, Disagreement)


def strangeness(graph: GraphBuilder, view: View, sight: Sight) -> Value:
    """A view's score, (n, 1)."""
    if isinstance(view, Prototypes):
        scores = angle(graph, view.prototypes, sight.hidden if isinstance(view, HiddenPrototypes) else sight.embedding)
    elif isinstance(view, Mahalanobis):
        scores = distance(graph, view, sight)
    else:
        scores = graph("Neg", sight.mean_zeta)
    return finite(graph, as_double(graph, reduced(graph, "Min", scores, 1)))


def angle(graph: GraphBuilder, prototypes: Tensor, points: Value) -> Value:
    """One minus the cosine to the nearest prototype, averaged over members."""
    nearest = reduced(graph, "Max", product(graph, points, array(prototypes.mT)), -1)
    lengths = graph("Max", length_of_row(graph, points, prototypes.shape[-1]), np.finfo(np.float32).tiny)
    distances = graph("Sub", np.float32(1), graph("Div", nearest, lengths))
    return mean_over_members(graph, distances, len(prototypes))


def distance(graph: GraphBuilder, view: Mahalanobis, sight: Sight) -> Value:
    """The distance to each class mean, averaged over members."""
    if isinstance(view, ColumnMahalanobis):
        white = product(graph, sight.features, array(view.whitening[0]))
        return graph("Sqrt", squared_distances(graph, white, array(view.centers[0])))
    points = (
        of_length_1(graph, sight.hidden, view.whitening.shape[-2])
        if isinstance(view, HiddenMahalanobis)
        else sight.embedding
    )
    white = product(graph, points, array(view.whitening))
    distances = graph("Sqrt", squared_distances(graph, white, array(view.centers)))
    return mean_over_members(graph, distances, len(view.centers))


def of_length_1(graph: GraphBuilder, points: Value, width: int) -> Value:
    """Points scaled to length 1."""
    return graph("Div", points, graph("Max", length_of_row(graph, points, width), SHORTEST))


def mean_over_members(graph: GraphBuilder, values: Value, members: int) -> Value:
    """(members, n, k) -> (n, k)."""
    each = [picked_member(graph, values, member) for member in range(members)]
    return graph("Div", added(graph, each), np.float32(members))


def finite(graph: GraphBuilder, value: Value) -> Value:
    """What overflowed on its way through the layers is absurd: nothing is stranger."""
    known = graph("Where", graph("IsNaN", value), np.float64(ABSURD), value)
    return bounded(graph, known, np.float64(-ABSURD), np.float64(ABSURD))
