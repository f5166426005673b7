"""From encoded rows to verdicts, as arrays: what every way to use a model has in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gditd.calibration import OOD, Rule, check_alpha, decide, false_discovery, sign_rule
from gditd.detectors.base import FloatArray
from gditd.fitted import FittedModel
from gditd.tables import EncodedTable

Control = Literal["row", "table"]

# What lies between encoded rows and verdicts takes several times as much memory as the verdicts. For so few rows it is
# given back and taken again without the system's help, which takes its time with large pieces.
ROWS_AT_A_TIME = 65_536


@dataclass(frozen=True)
class Judgement:
    """Of n rows: the winning class number or OOD, and how strange they are, (n,); and of each class (n, classes).

    Of each class there are the scores that verdicts go by, p-values and log probabilities. P-values are NaN where the
    model is not calibrated, and 0 for rows that could not be read, which are OOD. `ood_score` is higher for stranger
    rows. It ranks them, and may know more than the scores.
    """

    winners: NDArray[np.int64]
    ood_score: FloatArray
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


def judge(
    model: FittedModel, encoded: EncodedTable, *, rule: Rule, alpha: float, control: Control = "row"
) -> Judgement:
    """Give each row a verdict."""
    if control not in ("row", "table"):
        raise ValueError(f'control must be "row" or "table", got {control!r}')
    if rule == "sign" and control == "table":
        raise ValueError('control="table" needs p-values: fit with rule="conformal", or leave it out')
    check_alpha(alpha)
    parts = [judged_part(model, values) for values in torch.split(encoded.values, ROWS_AT_A_TIME)]
    ood_score, scores, p, log_probabilities = (np.concatenate(own) for own in zip(*parts, strict=True))
    unread = list(encoded.row_errors)
    p[unread] = 0.0
    if rule == "sign":
        winners = sign_rule(scores)
    elif control == "row":
        winners = decide(p, log_probabilities, alpha)
    else:
        winners = np.where(false_discovery(p, alpha)[1], OOD, log_probabilities.argmax(axis=1))
    winners[unread] = OOD
    return Judgement(winners, ood_score, scores, p, log_probabilities)


def judged_part(model: FittedModel, values: Tensor) -> tuple[FloatArray, FloatArray, NDArray[np.float64], FloatArray]:
    """OOD scores (n,) of encoded rows; scores, p-values and log probabilities, (n, classes) each."""
    scored = model.named(values)
    p = np.full(scored.classes.shape, np.nan) if model.calibrator is None else model.p_values(scored.by_fold)
    return scored.ood_scores, scored.classes, p, scored.log_probabilities
