"""How much each view counts, learned from classes left out: the views that catch them earn weight.

Left-out classes are few, so the weights start from ones that did well on average over many tables, and move away from
them only as far as it pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

Floats = NDArray[np.float64]

PRIOR = {
    "zeta": 0.3,
    "hidden-prototypes": 0.6,
    "hidden-mahalanobis": 0.7,
    "embedding-mahalanobis": 0.8,
    "column-mahalanobis": 0.7,
    "column-rivals": 1.5,
    "mixed-forest": 2.5,
    "mixed-ranges": 1.5,
    "forest": 1.0,
}
MIXED_FOREST_NEEDS = 100  # rows: from so many it counts half as much as from very many
RIVALS_NEED = 300  # rows, likewise: prototypes of a handful of rows tell little of what lies between classes
COLUMNS_OF_FEW_ROWS = 2.0  # by how much more the columns' own distance counts where there are hardly any rows
FEW_ROWS = 200

STEPS = (-1.0, -0.5, 0.5, 1.0)  # tried on the logarithm of a weight
FURTHEST = 2.5  # from the prior, on that scale
PULL = 0.02  # towards the prior, for each squared step, against the mean logit of AUROC
ROUNDS = 4
SMALLEST_GAIN = 1e-3
SMALLEST_SHARE = 0.02  # views below it are dropped: they would cost time for nothing


@dataclass(frozen=True)
class Trial:
    """A class left out: the views' scaled scores (n, views) of known rows, and of the class's rows."""

    known: Floats
    strange: Floats

    def auroc(self, weights: Floats) -> float:
        """How well the weighted sum tells the class from the known ones."""
        return auroc(self.known @ weights, self.strange @ weights)


def auroc(known: Floats, strange: Floats) -> float:
    """The chance that a strange row scores higher than a known one; a tie counts half.

    Ten times faster than scikit-learn's on a few hundred rows, and learning weights asks for thousands of them.
    """
    return float(ranks_among(known, strange).mean())


def ranks_among(known: Floats, strange: Floats) -> Floats:
    """The share of known scores below each strange one, (n,); a tie counts half."""
    ordered = np.sort(known)
    below = np.searchsorted(ordered, strange, side="left") + np.searchsorted(ordered, strange, side="right")
    shares: Floats = below / (2 * len(known))
    return shares


def prior_weights(names: Sequence[str], n_rows: int) -> Floats:
    """What views count where nothing is known of a table but its training rows' number; they sum to 1."""
    weights = dict(PRIOR)
    weights["mixed-forest"] *= n_rows / (n_rows + MIXED_FOREST_NEEDS)
    weights["column-rivals"] *= n_rows / (n_rows + RIVALS_NEED)
    weights["column-mahalanobis"] += COLUMNS_OF_FEW_ROWS * FEW_ROWS / (n_rows + FEW_ROWS)
    return normalised(np.array([weights[name] for name in names]))


def learn_weights(start: Floats, trials: Sequence[Trial]) -> Floats:
    """Weights (views,) that sum to 1; those to start from without any trial."""
    if not trials:
        return start
    moves = np.zeros(len(start))
    best = worth(start, moves, trials)
    for _ in range(ROUNDS):
        before = best
        for view in range(len(start)):
            for step in STEPS:
                tried = moves.copy()
                tried[view] += step
                if abs(tried[view]) > FURTHEST:
                    continue
                found = worth(start, tried, trials)
                if found > best + SMALLEST_GAIN:
                    best, moves = found, tried
        if best == before:
            break
    return normalised(start * np.exp(moves))


def worth(start: Floats, moves: Floats, trials: Sequence[Trial]) -> float:
    """The mean logit of AUROC over the trials, less for weights far from where they started."""
    weights = start * np.exp(moves)
    found = np.array([trial.auroc(weights) for trial in trials])
    return float(logit(found.clip(0.002, 0.998)).mean() - PULL * np.square(moves).sum())


def normalised(weights: Floats) -> Floats:
    """The same weights with sum 1."""
    shares: Floats = weights / weights.sum()
    return shares
