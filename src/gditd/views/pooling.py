"""Which class: the networks' zeta and the forests' votes pooled into one probability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

Floats = NDArray[np.float64]

FEWEST_VOTES = 0.01  # a class that no tree votes for is not impossible
# Weights are drawn to these, zeta's on a scale of its own: rows held out are few, and those that tell which side to
# believe are fewer. It also keeps a perfect separation from driving the weights to infinity.
USUAL_WEIGHTS = np.array([1.0, 3.0])
PULL = 0.3


@dataclass(frozen=True)
class Pool:
    """log P = of_zeta * zeta + of_votes * log votes + constant."""

    of_zeta: float = 1.0
    of_votes: float = 1.0

    @classmethod
    def fit(cls, zeta: Floats, votes: Floats, codes: NDArray[np.int64]) -> Pool:
        """Learn from rows (n, classes) that neither side learned from; the two weights that make them likeliest."""
        if not len(codes) or zeta.shape[1] < 2:
            return cls()
        scale = max(float(np.median(zeta.max(axis=1) - zeta.min(axis=1))), 1e-6)
        zeta_part, votes_part = zeta / scale, log_votes(votes)
        rows = np.arange(len(codes))

        def cost(weights: Floats) -> tuple[float, Floats]:
            log_p = log_softmax(weights[0] * zeta_part + weights[1] * votes_part, axis=1)
            error = np.exp(log_p)
            error[rows, codes] -= 1.0
            slopes = [float((error * part).sum()) for part in (zeta_part, votes_part)]
            away = weights - USUAL_WEIGHTS
            value = -log_p[rows, codes].sum() + PULL * float(away @ away)
            return float(value), np.array(slopes) + 2 * PULL * away

        found = minimize(cost, USUAL_WEIGHTS, jac=True, bounds=[(0.0, 1e3), (0.0, 1e3)], method="L-BFGS-B")
        of_zeta, of_votes = found.x.tolist()
        return cls(max(of_zeta, 1e-3) / scale, max(of_votes, 1e-3))

    def log_probabilities(self, zeta: Floats, votes: Floats) -> Floats:
        """Of each class, (n, classes)."""
        logs: Floats = log_softmax(self.of_zeta * zeta + self.of_votes * log_votes(votes), axis=1)
        return logs

    def state(self) -> Floats:
        """Both weights."""
        return np.array([self.of_zeta, self.of_votes])

    @classmethod
    def from_state(cls, weights: Floats) -> Pool:
        """Undo `state`; ValueError where there are not two."""
        of_zeta, of_votes = weights.tolist()
        return cls(of_zeta, of_votes)


def log_votes(votes: Floats) -> Floats:
    """Logarithms of vote shares (n, classes), none of them minus infinity."""
    logs: Floats = np.log(votes + FEWEST_VOTES)
    return logs
