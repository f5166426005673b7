"""From encoded rows to verdicts, as arrays: what every way to use a model has in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gditd.calibration import OOD, Rule, decide, false_discovery, sign_rule
from gditd.detectors.base import FloatArray
from gditd.fitted import FittedModel, Named
from gditd.tables import EncodedTable

Control = Literal["row", "table"]


@dataclass(frozen=True)
class Judgement:
    """Of n rows: the winning class number or OOD (n,), scores, p-values and log probabilities (n, classes).

    P-values are NaN where the model is not calibrated, and 0 for rows that could not be read, which are OOD.
    """

    winners: NDArray[np.int64]
    scores: FloatArray
    p: NDArray[np.float64]
    log_probabilities: FloatArray

    @property
    def known_class(self) -> NDArray[np.int64]:
        """The most likely class, (n,)."""
        likeliest: NDArray[np.int64] = self.log_probabilities.argmax(axis=1)
        return likeliest

    @property
    def p_value(self) -> NDArray[np.float64]:
        """Of the best class, (n,)."""
        best: NDArray[np.float64] = self.p.max(axis=1)
        return best

    @property
    def ood_score(self) -> FloatArray:
        """Higher = stranger, (n,)."""
        strangeness: FloatArray = -self.scores.max(axis=1)
        return strangeness


def judge(
    model: FittedModel, encoded: EncodedTable, *, rule: Rule, alpha: float, control: Control = "row"
) -> Judgement:
    """Give each row a verdict."""
    if control not in ("row", "table"):
        raise ValueError(f'control must be "row" or "table", got {control!r}')
    scored = model.named(encoded.values)
    unread = list(encoded.row_errors)
    p = np.full(scored.classes.shape, np.nan) if model.calibrator is None else model.p_values(scored.by_fold)
    p[unread] = 0.0
    winners = winning_classes(scored, p, rule=rule, alpha=alpha, control=control)
    winners[unread] = OOD
    return Judgement(winners, scored.classes, p, scored.log_probabilities)


def winning_classes(
    scored: Named, p: NDArray[np.float64], *, rule: Rule, alpha: float, control: Control
) -> NDArray[np.int64]:
    """The class number of each row, or OOD."""
    if rule == "sign":
        return sign_rule(scored.classes)
    if control == "row":
        return decide(p, scored.log_probabilities, alpha)
    return np.where(false_discovery(p, alpha)[1], OOD, scored.log_probabilities.argmax(axis=1))
