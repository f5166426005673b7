"""What to expect of a class nobody has labelled yet, from the known classes left out in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import t as student

COVERAGE = 0.9  # of the range, if unseen classes are like the known ones
FEWEST_CLASSES = 2
NEARLY_ALL = 0.998  # an AUROC beyond which classes differ by chance only


@dataclass(frozen=True)
class Caught:
    """How well one known class was caught while it was left out."""

    class_number: int
    auroc: float
    recall: float


@dataclass(frozen=True)
class Forecast:
    """A class never seen would be caught with about this AUROC, within a range, and this recall at alpha."""

    auroc: float
    low: float
    high: float
    recall: float
    alpha: float
    left_out: tuple[Caught, ...]

    @classmethod
    def of(cls, left_out: Sequence[Caught], alpha: float) -> Forecast | None:
        """Sum up; None from fewer classes than a range needs.

        The range is the prediction interval for one more draw: classes differ, and a few of them tell only so much.
        """
        if len(left_out) < FEWEST_CLASSES:
            return None
        found = logit(np.clip([caught.auroc for caught in left_out], 1 - NEARLY_ALL, NEARLY_ALL))
        n = len(found)
        margin = student.ppf((1 + COVERAGE) / 2, n - 1) * found.std(ddof=1) * np.sqrt(1 + 1 / n)
        high = float(expit(found.mean() + margin))
        return cls(
            auroc=float(np.mean([caught.auroc for caught in left_out])),
            low=float(expit(found.mean() - margin)),
            high=1.0 if high >= NEARLY_ALL - 1e-9 else high,
            recall=float(np.mean([caught.recall for caught in left_out])),
            alpha=alpha,
            left_out=tuple(left_out),
        )

    def document(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Forecast:
        """Undo `document`."""
        left_out = tuple(Caught(**caught) for caught in document["left_out"])
        return cls(**{**document, "left_out": left_out})
