"""Many views, one score: the weighted mean of how unlikely each finds a row, and which class it is most like.

P-values of dependent views must not be multiplied as if they were independent. Here nothing is assumed: the fused score
is one score like any, and gets its own p-values from rows held out for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gditd.detectors.network import part_of
from gditd.training import Cohort
from gditd.views.costs import affordable, costs_of_sources
from gditd.views.forest import Forest
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

    What p-values rest on must not have learned from the rows that calibrate: `views` did not. What only ranks rows and
    names their classes may: `complete` are the same views by the same networks, learned from every row there is; None
    where these are so many that no forest learns from all of them. `namer` is a plain forest that learned from them to
    name classes alone, where none of the views is one. `naming_pool` is the pool by which classes are named, learned
    from rows that calibrate too; None: it is `pool`.
    """

    views: ViewSet
    scales: Scales
    weights: Floats
    pool: Pool
    complete: ViewSet | None = None
    namer: Forest | None = None
    naming_pool: Pool | None = None

    def look(self, cohort: Cohort, values: Tensor) -> Looks:
        """Look at encoded rows (n, width) with views that no calibrating row taught."""
        return self.views.look(cohort, values)

    def look_completely(self, cohort: Cohort, values: Tensor) -> Looks:
        """Look at them with views that every row taught."""
        return self.ranking.look(cohort, values)

    def look_twice(self, cohort: Cohort, values: Tensor) -> tuple[Looks, Looks]:
        """Look in both ways; the networks run once."""
        looks = self.look(cohort, values)
        return looks, looks if self.complete is None else self.complete.look_again(cohort, values, looks)

    @property
    def ranking(self) -> ViewSet:
        """The views by which rows are ranked."""
        return self.views if self.complete is None else self.complete

    @property
    def as_calibrated(self) -> Fusion:
        """The same without all that calibrating rows taught: it meets these as it would meet new ones."""
        return replace(self, complete=None, namer=None, naming_pool=None)

    def scores(self, looks: Looks) -> Floats:
        """Scores (n, classes), of what no calibrating row taught if the looks are."""
        return self.scores_by(self.pool.log_probabilities(looks.zeta, looks.votes), looks)

    def named(self, looks: Looks, values: Tensor) -> Floats:
        """The logarithm of each class's probability, (n, classes), by all that was learned."""
        return (self.naming_pool or self.pool).log_probabilities(looks.zeta, self.naming_votes(looks, values))

    def naming_votes(self, looks: Looks, values: Tensor) -> Floats:
        """The votes that name classes, (n, classes), for rows and what the ranking views see of them."""
        walks = [*looks.walks] if self.namer is None else [*looks.walks, (self.namer, self.namer.walk(values))]
        if not walks:
            return looks.votes
        weights = [forest.counts_in_names for forest, _ in walks]
        votes: Floats = np.average([forest.class_votes(walk) for forest, walk in walks], axis=0, weights=weights)
        return votes

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

    @property
    def widths(self) -> list[int]:
        """How many features each forest and the ferns take."""
        sets = [self.views] if self.complete is None else [self.views, self.complete]
        forests = [forest for own in sets for forest in own.forests.values()]
        return [
            *(forest.trees.n_features for forest in (forests if self.namer is None else [*forests, self.namer])),
            *(ferns.n_features for own in sets for ferns in own.ferns.values()),
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
            "pool": self.pool.state(),
        }
        if self.naming_pool is not None:
            numbers["naming_pool"] = self.naming_pool.state()
        views = {f"view.{name}": value for name, value in self.views.state().items()}
        complete = {} if self.complete is None else self.complete.without_networks.state()
        views |= {f"complete.{name}": value for name, value in complete.items()}
        namer = {} if self.namer is None else self.namer.state()
        views |= {f"namer.{name}": value for name, value in namer.items()}
        return views | {name: torch.from_numpy(value) for name, value in numbers.items()}

    @classmethod
    def from_state(cls, names: Sequence[str], tensors: dict[str, Tensor], n_classes: int) -> Fusion:
        """Undo `state`; ValueError where the numbers do not fit the views."""
        own, complete, namer = (part_of(tensors, f"{part}.") for part in ("view", "complete", "namer"))
        knots, steps, weights, pool = (tensors[name].numpy() for name in ("knots", "steps", "weights", "pool"))
        if knots.shape != (len(names), len(SHARES)) or steps.shape != weights.shape or len(weights) != len(names):
            raise ValueError("the scales and weights do not fit the views")
        views = ViewSet.from_state(names, own, n_classes)
        of_networks = {name: value for name, value in own.items() if name.split(".")[0] in views.names_of_networks}
        return cls(
            views,
            Scales([Scale(own_knots, float(step)) for own_knots, step in zip(knots, steps, strict=True)]),
            weights,
            Pool.from_state(pool),
            ViewSet.from_state(names, of_networks | complete, n_classes) if complete else None,
            Forest.from_state(namer, n_classes) if namer else None,
            Pool.from_state(tensors["naming_pool"].numpy()) if "naming_pool" in tensors else None,
        )
