"""Many views, one score: the weighted mean of how unlikely each finds a row, and which class it is most like.

P-values of dependent views must not be multiplied as if they were independent. Here nothing is assumed: the fused score
is one score like any, and gets its own p-values from rows held out for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gditd.detectors.network import part_of
from gditd.training import Cohort
from gditd.views.costs import affordable, costs_of_sources
from gditd.views.forest import Forest
from gditd.views.lesson import Lesson
from gditd.views.looks import Looks, ViewSet
from gditd.views.pooling import Pool
from gditd.views.scale import SHARES, Scale
from gditd.views.weights import SMALLEST_SHARE, SMALLEST_SHARE_OF_SOURCE, normalised

Floats = NDArray[np.float64]

# How much a class may count against a row by being unlikely. Without a limit a class would be calibrated by the few of
# its rows that are taken for another class, and would then accept whatever is less strange than those; with a low one
# it would give its name to rows that are hardly like it.
MOST_BEHIND = 12.0


@dataclass(frozen=True, eq=False)
class Scales:
    """A scale for each view."""

    of_view: Sequence[Scale]

    @classmethod
    def fit(cls, views: ViewSet, strangeness: Floats) -> Scales:
        """Learn from the strangeness (n, views) of known rows."""
        return cls([Scale.fit(own, unit) for own, unit in zip(strangeness.T, views.units, strict=True)])

    def __call__(self, strangeness: Floats) -> Floats:
        """Minus log p of every view, (n, views)."""
        return np.column_stack([scale(own) for scale, own in zip(self.of_view, strangeness.T, strict=True)])


@dataclass(frozen=True, eq=False)
class Fusion:
    """Views with their scales and weights, and the pool that names the class.

    What scores a row must not have learned from the rows that calibrate. What only names its class may: `naming` is a
    forest that learned from every row there is, and of a rare class each one counts.
    """

    views: ViewSet
    scales: Scales
    weights: Floats
    pool: Pool
    naming: Forest | None = None

    def look(self, cohort: Cohort, values: Tensor) -> Looks:
        """Look at encoded rows (n, width)."""
        return self.views.look(cohort, values)

    def scores(self, looks: Looks) -> Floats:
        """Scores (n, classes) that calibrating rows had no part in."""
        return self.scores_by(self.pool.log_probabilities(looks.zeta, looks.votes), looks)

    def named(self, looks: Looks, values: Tensor) -> tuple[Floats, Floats]:
        """Those scores, and the logarithm of each class's probability, (n, classes) both, for encoded rows."""
        pooled = self.pool.log_probabilities(looks.zeta, looks.votes)
        log_p = pooled if self.naming is None else self.log_probabilities(looks, values)
        return self.scores_by(pooled, looks), log_p

    def strangeness(self, looks: Looks) -> Floats:
        """How strange rows are to all classes, (n,)."""
        mean: Floats = self.scales(looks.strangeness) @ self.weights
        return mean

    def scores_by(self, log_p: Floats, looks: Looks) -> Floats:
        """Minus the strangeness for the most likely class, and less for others by how much less likely they are."""
        strangeness = self.strangeness(looks)
        behind = log_p.max(axis=1, keepdims=True) - log_p
        scores: Floats = -strangeness[:, None] - MOST_BEHIND * -np.expm1(-behind / MOST_BEHIND)
        return scores

    def log_probabilities(self, looks: Looks, values: Tensor) -> Floats:
        """Of each class, (n, classes), for encoded rows and what the views saw of them."""
        if self.naming is None:
            return self.pool.log_probabilities(looks.zeta, looks.votes)
        votes = self.naming.class_votes(self.naming.walk(values))
        return self.pool.log_probabilities(looks.zeta, votes.astype(np.float64))

    @property
    def widths(self) -> list[int]:
        """How many features each forest and the ferns take."""
        forests = [*self.views.forests.values(), *([] if self.naming is None else [self.naming])]
        return [
            *(forest.trees.n_features for forest in forests),
            *(own.n_features for own in self.views.ferns.values()),
        ]

    def lightened(self, budget: float | None = None, *, cohort: Cohort) -> Fusion:
        """Return the same without views that hardly count, and within a budget of about so many nanoseconds a row."""
        names, shares, sources = self.views.names, self.shares(), self.views.sources
        afforded = sources if budget is None else self._afforded(budget, cohort)
        kept = self.views.only(
            [
                name
                for name, source in zip(names, sources, strict=True)
                if source in afforded and shares[name] >= SMALLEST_SHARE
            ]
        )
        places = [names.index(name) for name in kept.names]
        scales = Scales([self.scales.of_view[place] for place in places])
        return replace(self, views=kept, scales=scales, weights=normalised(self.weights[places]))

    def _afforded(self, budget: float, cohort: Cohort) -> list[str]:
        """The sources that a budget has room for: the networks or a forest, whose views together must be worth it."""
        together = dict.fromkeys(self.views.sources, 0.0)
        for share, source in zip(self.weights.tolist(), self.views.sources, strict=True):
            together[source] += share
        worth_it = {source: share for source, share in together.items() if share >= SMALLEST_SHARE_OF_SOURCE}
        return affordable(worth_it, costs_of_sources(self.views, cohort), budget)

    def regrown(self, lesson: Lesson, trees: Mapping[str, int], ood: Tensor | None = None) -> Fusion:
        """Return the same with forests grown from more rows."""
        return replace(self, views=self.views.regrown(lesson, trees, ood))

    def shares(self) -> dict[str, float]:
        """How much each view counts."""
        return dict(zip(self.views.names, self.weights.tolist(), strict=True))

    # --- the model file ---

    def state(self) -> dict[str, Tensor]:
        """All that was learned, by name."""
        numbers = {
            "knots": np.stack([scale.knots for scale in self.scales.of_view]),
            "steps": np.array([scale.step for scale in self.scales.of_view]),
            "weights": self.weights,
            "pool": np.array([self.pool.of_zeta, self.pool.of_votes]),
        }
        views = {f"view.{name}": value for name, value in self.views.state().items()}
        naming = {} if self.naming is None else self.naming.state()
        views |= {f"naming.{name}": value for name, value in naming.items()}
        return views | {name: torch.from_numpy(value) for name, value in numbers.items()}

    @classmethod
    def from_state(cls, names: Sequence[str], tensors: dict[str, Tensor], n_classes: int) -> Fusion:
        """Undo `state`; ValueError where the numbers do not fit the views."""
        own = part_of(tensors, "view.")
        naming = part_of(tensors, "naming.")
        knots, steps, weights, pool = (tensors[name].numpy() for name in ("knots", "steps", "weights", "pool"))
        if knots.shape != (len(names), len(SHARES)) or steps.shape != weights.shape or len(weights) != len(names):
            raise ValueError("the scales and weights do not fit the views")
        return cls(
            ViewSet.from_state(names, own, n_classes),
            Scales([Scale(own_knots, float(step)) for own_knots, step in zip(knots, steps, strict=True)]),
            weights,
            Pool(float(pool[0]), float(pool[1])),
            Forest.from_state(naming, n_classes) if naming else None,
        )
