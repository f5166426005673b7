"""The figures of one fitted method on the test rows of one cell."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from gditd import metrics
from gditd.bench.peers import ClassifyingPeer, Peer
from gditd.classifier import GDITDClassifier
from gditd.detectors.base import FloatArray
from gditd.detectors.network import NetworkDetector

Figures = dict[str, float | None]

METRICS = (
    "id_accuracy",
    "tnr_at_85_tpr",
    "ood_auroc",
    "ood_aupr",
    "minority_aupr",
    "fit_seconds",
    "score_rows_per_second",
)


def measure(method: Peer, rows: Any, codes: NDArray[np.int64], *, minority: int) -> Figures:
    """Score known rows, then OOD rows (code -1), given in any form the method takes; `minority` is a class number."""
    started = time.perf_counter()
    scores = method.ood_score(rows)
    seconds = time.perf_counter() - started
    is_ood = codes < 0
    return {
        **class_figures(method, rows, codes, minority),
        "tnr_at_85_tpr": metrics.tnr_at_tpr(is_ood, scores),
        "ood_auroc": metrics.ood_auroc(is_ood, scores),
        "ood_aupr": metrics.ood_aupr(is_ood, scores),
        "score_rows_per_second": len(codes) / seconds,
        **promise_figures(method, rows, is_ood),
    }


def promise_figures(method: Peer, rows: Any, is_ood: NDArray[np.bool_]) -> Figures:
    """What the package's own classifier makes of its promise and its forecast; nothing for other methods.

    They stand beside the metrics in a run's results, not in its tables.
    """
    if not isinstance(method, GDITDClassifier):
        return {}
    flagged = (method.verdict(rows)["verdict"] == "OOD").to_numpy()
    forecast = method.summary()["forecast"] or {}
    return {
        "ood_recall": float(flagged[is_ood].mean()),
        "false_alarm_rate": float(flagged[~is_ood].mean()),
        **{f"forecast_{name}": forecast.get(name) for name in ("auroc", "low", "high", "recall")},
    }


def class_figures(method: Peer, rows: Any, codes: NDArray[np.int64], minority: int) -> Figures:
    """Figures over the known rows; None where the method names no class."""
    if not isinstance(method, ClassifyingPeer):
        return {"id_accuracy": None, "minority_aupr": None}
    known = codes >= 0
    scores = log_probabilities(method, rows)[known]
    return {
        "id_accuracy": metrics.accuracy(codes[known], scores.argmax(axis=1)),
        "minority_aupr": metrics.class_aupr(codes[known], scores[:, minority], minority),
    }


def log_probabilities(method: ClassifyingPeer, rows: Any) -> FloatArray:
    """Log probabilities (n, classes), or anything that ranks rows and classes as they do.

    A network's come from its class scores: as plain probabilities, many rows would all be exactly 0 or 1.
    """
    if isinstance(method, NetworkDetector):
        logs: FloatArray = log_softmax(method.class_scores(rows).astype(np.float64), axis=1)
        return logs
    return method.predict_proba(rows)
