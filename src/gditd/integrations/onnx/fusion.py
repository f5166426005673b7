"""Many views, one score: scales, weights and the pool that names the class, as in `gditd.views`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from gditd.integrations.onnx import ferns, forests
from gditd.integrations.onnx.builder import GraphBuilder, Value
from gditd.integrations.onnx.looks import Sight, finite, strangeness
from gditd.integrations.onnx.operations import product, reduced, side_by_side
from gditd.views import Fusion
from gditd.views.fusion import MOST_BEHIND
from gditd.views.pooling import FEWEST_VOTES, Pool
from gditd.views.scale import LARGE, SHARES, Scale

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fused:
    """Scores, those that go by the likelihood of the class, and what ranks it, (n, classes) float64 each."""

    scores: Value
    named: Value
    ranking: Value


def fused(graph: GraphBuilder, fusion: Fusion, sight: Sight) -> Fused:
    """A score for each class, minus the strangeness and less the less likely the class is; and which is likeliest."""
    views = fusion.views
    votes = {name: forests.votes(graph, sight.features, forest) for name, forest in views.forests.items()}
    seen = [strangeness(graph, view, sight) for view in views.views.values()]
    seen += [forests.strangeness(graph, forest, sight.features, votes[name]) for name, forest in views.forests.items()]
    seen += [ferns.strangeness(graph, own, sight.features) for own in views.ferns.values()]
    shares = [forests.class_votes(graph, forest, votes[name]) for name, forest in views.forests.items()]
    scaled = scales(graph, side_by_side(graph, seen), fusion.scales.of_view)
    strange = product(graph, scaled, fusion.weights[:, None])
    zeta = finite(graph, sight.mean_zeta)
    logits = pooled(graph, fusion.pool, zeta, mean_of(graph, shares))
    scores = class_scores(graph, strange, logits)
    if fusion.naming is None:
        return Fused(scores, scores, logits)
    named = forests.class_votes(graph, fusion.naming, forests.votes(graph, sight.features, fusion.naming))
    ranking = pooled(graph, fusion.pool, zeta, named)
    return Fused(scores, class_scores(graph, strange, ranking), ranking)


def class_scores(graph: GraphBuilder, strange: Value, logits: Value) -> Value:
    """Minus the strangeness (n, 1), and less the less likely the class is by its logits (n, classes)."""
    # The sum over classes that makes probabilities of them is the same for all, and falls out.
    behind = graph("Sub", reduced(graph, "Max", logits, 1), logits)
    shrunk = graph("Exp", graph("Div", behind, np.float64(-MOST_BEHIND)))
    against = graph("Mul", graph("Sub", np.float64(1), shrunk), np.float64(MOST_BEHIND))
    return graph("Neg", graph("Add", strange, against))


def scales(graph: GraphBuilder, scores: Value, of_view: Sequence[Scale]) -> Value:
    """Every view's score as minus the logarithm of a p-value, (n, views)."""
    levels = -np.log1p(-SHARES)
    pieces = StraightPieces.of(of_view, levels)
    last = np.array([[scale.knots[-1] for scale in of_view]])
    steps = np.array([[scale.step for scale in of_view]])
    within = pieces.at(graph, scores)
    beyond = graph("Add", graph("Div", graph("Sub", scores, last), steps), levels[-1])
    scaled = graph("Where", graph("Greater", scores, last), beyond, within)
    excess = graph("Max", graph("Sub", scaled, np.float64(LARGE)), np.float64(0))
    compressed = graph("Add", graph("Sqrt", graph("Add", excess, np.float64(1))), np.float64(LARGE - 1))
    return graph("Where", graph("Greater", scaled, np.float64(LARGE)), compressed, scaled)


class StraightPieces:
    """Straight lines between knots, for each of several views: what numpy.interp does, step by step.

    A value belongs to the last knot that is not above it; the first piece, before all knots, and the last are level.
    """

    def __init__(self, knots: Floats, starts: Floats, levels: Floats, slopes: Floats) -> None:
        self.knots = knots  # (views, m)
        self.starts, self.levels, self.slopes = starts, levels, slopes  # (views, m + 1)

    @classmethod
    def of(cls, of_view: Sequence[Scale], levels: Floats) -> StraightPieces:
        """Of equal knots the first counts."""
        parts: dict[str, list[Floats]] = {"knots": [], "starts": [], "levels": [], "slopes": []}
        for scale in of_view:
            knots, first = np.unique(scale.knots, return_index=True)
            own = levels[first]
            slopes = np.append(np.diff(own) / np.diff(knots), 0.0)
            missing = len(scale.knots) - len(knots)
            parts["knots"].append(np.append(knots, np.full(missing, np.inf)))
            for name, before, values in (("starts", knots[0], knots), ("levels", own[0], own), ("slopes", 0.0, slopes)):
                parts[name].append(np.concatenate([[before], values, np.zeros(missing)]))
        return cls(**{name: np.stack(rows) for name, rows in parts.items()})

    def at(self, graph: GraphBuilder, scores: Value) -> Value:
        """The lines' values, (n, views)."""
        n_views, pieces = self.starts.shape
        reached = graph("GreaterOrEqual", graph("Unsqueeze", scores, np.array([2])), self.knots[None])
        piece = reduced(graph, "Sum", graph("Cast", reached, to=TensorProto.INT64), 2, keep=False)
        place = graph("Add", piece, np.arange(n_views)[None] * pieces)

        def found(table: NDArray[Any]) -> Value:
            return graph("Gather", table.reshape(-1), place)

        rise = graph("Mul", found(self.slopes), graph("Sub", scores, found(self.starts)))
        return graph("Add", rise, found(self.levels))


def pooled(graph: GraphBuilder, pool: Pool, zeta: Value, votes: Value | None) -> Value:
    """The classes' log probabilities but for a constant of each row, (n, classes)."""
    logits = graph("Mul", zeta, np.float64(pool.of_zeta))
    if votes is not None:
        logs = graph("Log", graph("Add", votes, np.float64(FEWEST_VOTES)))
        logits = graph("Add", logits, graph("Mul", logs, np.float64(pool.of_votes)))
    return logits


def mean_of(graph: GraphBuilder, shares: list[Value]) -> Value | None:
    """The forests' mean vote; None where there is no forest, and all classes have the same."""
    if not shares:
        return None
    total = shares[0]
    for other in shares[1:]:
        total = graph("Add", total, other)
    return graph("Div", total, np.float64(len(shares)))
