"""How results are measured: pure functions of labels, verdicts and scores.

Known rows carry a class number from 0; OOD is the positive class of every score, higher = stranger. A figure that the
rows do not define (no OOD row, no row of the class) is None, and a score of NaN is an error: never left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

IntArray = NDArray[np.integer[Any]]
FloatArray = NDArray[np.floating[Any]]
BoolArray = NDArray[np.bool_]

KEPT = 0.85  # share of known rows that the threshold of `tnr_at_tpr` keeps


def share(mask: BoolArray) -> float | None:
    """The share of rows for which something is true."""
    return float(mask.mean()) if len(mask) else None


def accuracy(classes: IntArray, predicted: IntArray) -> float | None:
    """The share of known rows whose class is right."""
    return share(classes == predicted)


def balanced_accuracy(classes: IntArray, predicted: IntArray) -> float | None:
    """The mean, over the classes that have rows, of the share of their rows that is right."""
    shares = [np.mean(predicted[classes == c] == c) for c in np.unique(classes)]
    return float(np.mean(shares)) if shares else None


def class_aupr(classes: IntArray, scores: FloatArray, wanted: int) -> float | None:
    """Average precision of one class's score over known rows, that class against the rest."""
    return _average_precision(classes == wanted, scores)


def ood_auroc(is_ood: BoolArray, scores: FloatArray) -> float | None:
    """The chance that an OOD row scores higher than a known one, ties counting half."""
    refuse_nan(scores)
    return float(roc_auc_score(is_ood, scores)) if _two_kinds(is_ood) else None


def ood_aupr(is_ood: BoolArray, scores: FloatArray) -> float | None:
    """Average precision of the OOD score."""
    return _average_precision(is_ood, scores) if _two_kinds(is_ood) else None


def tnr_at_tpr(is_ood: BoolArray, scores: FloatArray, kept: float = KEPT) -> float | None:
    """The share of OOD rows beyond the lowest threshold that keeps at least `kept` of the known rows."""
    refuse_nan(scores)
    if not _two_kinds(is_ood):
        return None
    threshold = np.quantile(scores[~is_ood], kept, method="inverted_cdf")
    return float(np.mean(scores[is_ood] > threshold))


def refuse_nan(scores: FloatArray) -> None:
    """Name the first row whose score is NaN."""
    bad = np.flatnonzero(np.isnan(scores))
    if len(bad):
        raise ValueError(f"row {bad[0] + 1} has a NaN score: a figure over the other rows would not be honest")


def _average_precision(positive: BoolArray, scores: FloatArray) -> float | None:
    refuse_nan(scores)
    return float(average_precision_score(positive, scores)) if positive.any() else None


def _two_kinds(mask: BoolArray) -> bool:
    return bool(mask.any() and not mask.all())
