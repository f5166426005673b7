"""One scale for all views: how unlikely a score is among known rows, as minus the logarithm of a p-value.

Up to the 90th percentile it follows the known rows' own quantiles. Above, where there are few of them, it goes on as
an exponential tail would, in a straight line, and from `LARGE` on as slowly as a square root: one view must not outvote
all others, yet what is absurd must stand out from what is merely rare.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SHARES = np.linspace(0.0, 0.9, 19)  # of known rows that lie below a knot
LEVELS = -np.log1p(-SHARES)  # minus log p at a knot
LARGE = 12.0  # a chance of six in a million


@dataclass(frozen=True, eq=False)
class Scale:
    """Knots (19,) of a view's score, and how much above the last of them adds 1."""

    knots: Floats
    step: float

    @classmethod
    def fit(cls, scores: Floats, unit: float) -> Scale:
        """Learn from the scores (n,) of known rows that the view did not learn from.

        `unit` is a difference that is small for this kind of score: where all rows score the same, nothing else tells
        how much a little more means.
        """
        knots = np.quantile(scores, SHARES)
        # Few rows lie above the last knot. Those above the median tell the same of an exponential tail.
        step = max(excess(scores, knots[-1]), excess(scores, float(np.median(scores))) / 2, unit)
        return cls(knots, step)

    def __call__(self, scores: Floats) -> Floats:
        """Minus log p, and more than that for nothing seen before; never below 0."""
        within = np.interp(scores, *self._curve)
        beyond = LEVELS[-1] + (scores - self.knots[-1]) / self.step
        scaled = np.where(scores > self.knots[-1], beyond, within)
        return np.where(scaled > LARGE, LARGE - 1 + np.sqrt(1 + np.maximum(scaled - LARGE, 0.0)), scaled)

    @cached_property
    def _curve(self) -> tuple[Floats, Floats]:
        """Knots and the level of each. Of equal ones the first counts: a score that many rows share is not strange."""
        knots, first = np.unique(self.knots, return_index=True)
        return knots, LEVELS[first]


def excess(scores: Floats, limit: float) -> float:
    """By how much scores above a limit exceed it on average; 0 if none does."""
    above = scores[scores > limit]
    return float((above - limit).mean()) if len(above) else 0.0
