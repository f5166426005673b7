"""Probabilities one can bet on: a temperature for the softmax over class scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

FloatArray = NDArray[np.floating[Any]]


def fit_temperature(scores: FloatArray, codes: NDArray[np.int64]) -> float:
    """Find T that makes softmax(scores / T) most likely for rows (n, classes) the scores were not learned from.

    T stays between 1/100 and 100 times the scores' own spread, so that a perfect separation does not drive it to 0.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape[1] < 2 or not len(scores):
        return 1.0
    rows = np.arange(len(scores))

    def cost(log_temperature: float) -> float:
        log_p = log_softmax(scores / np.exp(log_temperature), axis=1)
        return float(-log_p[rows, codes].mean())

    spread = np.log(max(float(np.median(scores.max(axis=1) - scores.min(axis=1))), 1e-6))
    found = minimize_scalar(cost, bounds=(spread - np.log(100), spread + np.log(100)), method="bounded")
    return float(np.exp(found.x))


def expected_calibration_error(probabilities: FloatArray, codes: NDArray[np.int64], n_bins: int = 15) -> float:
    """Mean gap between confidence and accuracy over bins of confidence with equal numbers of rows."""
    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == codes
    bins = np.array_split(np.argsort(confidence, kind="stable"), min(n_bins, len(codes)))
    gaps = [abs(confidence[rows].mean() - correct[rows].mean()) * len(rows) for rows in bins]
    return float(sum(gaps) / len(codes))
