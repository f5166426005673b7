"""What the columns of the results are called where people read them, and which methods belong together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

PAPER_METHOD = "gditd-paper"
PAPER_METHODS = ("softmax", "mahalanobis", "deep-mcdd", PAPER_METHOD)
PRESETS = ("gditd-fast", PAPER_METHOD)
PAPER_DATASETS = ("disputes", "gas", "drive", "mnist")
LOSSES = {"pull": "Pull", "score": "Score", "efl1": "EFL1", "efl2": "EFL2"}
ARMS = {"only": "this loss only", "without": "all but this loss"}


@dataclass(frozen=True)
class Metric:
    """How a metric is shown: shares in %, anything else as it is."""

    label: str
    share: bool = False
    higher_is_better: bool | None = True
    decimals: int = 2


METRICS = {
    "id_accuracy": Metric("ID accuracy", share=True),
    "tnr_at_85_tpr": Metric("OOD TNR at 85 % TPR", share=True),
    "ood_auroc": Metric("OOD AUROC", share=True),
    "ood_aupr": Metric("OOD AUPR", share=True),
    "minority_aupr": Metric("Minority AUPR", share=True),
    "fit_seconds": Metric("Fit, s", higher_is_better=False, decimals=1),
    "score_rows_per_second": Metric("Scoring, rows/s", decimals=0),
}
SHARES = tuple(name for name, metric in METRICS.items() if metric.share)


def metric_named(name: str) -> Metric:
    """A known metric, or one shown as it is, of which nobody knows whether more is better."""
    return METRICS.get(name) or Metric(name.replace("_", " "), higher_is_better=None, decimals=3)


def in_order(found: Iterable[str], first: Iterable[str]) -> list[str]:
    """The names found, those of `first` in its order before the others in theirs."""
    names = list(dict.fromkeys(found))
    known = [name for name in first if name in names]
    return known + [name for name in names if name not in known]


def is_arm(method: str) -> bool:
    """Whether a method is an arm of the ablation."""
    return method in ablation_arms()


def is_trial(method: str) -> bool:
    """Whether a method is the paper's with one thing changed, other than an arm of the ablation."""
    return method.startswith("gditd-") and method not in PRESETS and not is_arm(method)


def ablation_arms() -> dict[str, tuple[str, str]]:
    """The ablation's methods, each with its loss and its arm."""
    return {f"gditd-{arm}-{loss}": (loss, arm) for loss in LOSSES for arm in ARMS}


def compared(methods: Iterable[str]) -> list[str]:
    """The methods to compare with each other: the paper's first, without ablation arms and trials."""
    return in_order((m for m in methods if not is_arm(m) and not is_trial(m)), PAPER_METHODS)
