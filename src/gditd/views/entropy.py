"""The entropy of votes, compiled: most rows have votes for a few classes only, and the others cost nothing."""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

from gditd.views.compiling import compiled, filled, given


def _entropies(votes: NDArray[np.float64], n_classes: int, found: NDArray[np.float64]) -> None:
    """Entropy in nats, (n,), of the shares of votes (n, classes or more) for the first so many classes."""
    for row in range(len(votes)):
        total = 0.0
        for number in range(n_classes):
            share = votes[row, number]
            if share > 0:
                total -= share * math.log(share)
        found[row] = total


entropies = compiled(_entropies, given(numba.float64, 2), numba.int64, filled(numba.float64, 1))
