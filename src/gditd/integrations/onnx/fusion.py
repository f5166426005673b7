"""Many views, one score: scales, weights and the pool that names the class, as in `gditd.views`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
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
from gditd.views.looks import ViewSet
from gditd.views.pooling import FEWEST_VOTES, Pool
from gditd.views.scale import LARGE, SHARES, Scale

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fused:
    """Scores, and what ranks the classes, (n, classes) float64 both."""

    scores: Value
    ranking: Value


def fused(graph: GraphBuilder, fusion: Fusion, sight: Sight) -> tuple[Fused, Fused]:
    """What p-values go by, and what ranks rows and names their classes."""
    zeta = finite(graph, sight.mean_zeta)
    seen = Seen.of(graph, fusion.views, sight, of_networks={})
    logits = pooled(graph, fusion.pool, zeta, mean_of(graph, [(1.0, own) for own in seen.votes.values()]))
    held_out = Fused(class_scores(graph, strange(graph, fusion, seen), logits), logits)
    if fusion.complete is not None:
        seen = Seen.of(graph, fusion.complete, sight, of_networks=seen.by_view)
    ranking = pooled(graph, fusion.naming_pool or fusion.pool, zeta, naming_votes(graph, fusion, sight, seen))
    return held_out, Fused(class_scores(graph, strange(graph, fusion, seen), ranking), ranking)


def naming_votes(graph: GraphBuilder, fusion: Fusion, sight: Sight, seen: Seen) -> Value | None:
    """The votes that name classes, (n, classes)."""
    votes = [(fusion.ranking.forests[name].counts_in_names, own) for name, own in seen.votes.items()]
    if fusion.namer is not None:
        own = forests.class_votes(graph, fusion.namer, forests.votes(graph, sight.features, fusion.namer))
        votes.append((fusion.namer.counts_in_names, own))
    return mean_of(graph, votes)


@dataclass(frozen=True)
class Seen:
    """What a set of views sees of rows: strangeness (n, views), that of views besides forests, and forests' votes."""

    strangeness: Value
    by_view: Mapping[str, Value]
    votes: Mapping[str, Value]

    @classmethod
    def of(cls, graph: GraphBuilder, views: ViewSet, sight: Sight, *, of_networks: Mapping[str, Value]) -> Seen:
        """Look; what views of layers see may be known already."""
        known = {name: value for name, value in of_networks.items() if name in views.names_of_networks}
        by_view = {name: known.get(name) or strangeness(graph, view, sight) for name, view in views.views.items()}
        shares = {name: forests.votes(graph, sight.features, forest) for name, forest in views.forests.items()}
        by_forest = [
            forests.strangeness(graph, forest, sight.features, shares[name]) for name, forest in views.forests.items()
        ]
        by_ferns = [ferns.strangeness(graph, own, sight.features) for own in views.ferns.values()]
        return cls(
            side_by_side(graph, [*by_view.values(), *by_forest, *by_ferns]),
            by_view,
            {name: forests.class_votes(graph, forest, shares[name]) for name, forest in views.forests.items()},
        )


def strange(graph: GraphBuilder, fusion: Fusion, seen: Seen) -> Value:
    """How strange rows are to all classes, (n, 1)."""
    return product(graph, scales(graph, seen.strangeness, fusion.scales.of_view), fusion.weights[:, None])


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


def mean_of(graph: GraphBuilder, votes: Sequence[tuple[float, Value]]) -> Value | None:
    """The forests' mean vote, by what each counts; None where there is no forest, and all classes have the same."""
    if not votes:
        return None
    counted = [graph("Mul", own, np.float64(count)) for count, own in votes]
    total = reduce(lambda one, other: graph("Add", one, other), counted)
    return graph("Div", total, np.float64(sum(count for count, _ in votes)))
