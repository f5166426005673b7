"""Verdicts as arrays: what GDITDClassifier.verdict gives, without building a DataFrame for every few rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gditd import GDITDClassifier
from gditd.calibration import Rule
from gditd.detectors.base import FloatArray
from gditd.inputs import new_table
from gditd.judging import judge

OnError = Literal["raise", "ood"]


@dataclass(frozen=True)
class Verdicts:
    """Verdicts on n rows; p_value is NaN where the model is not calibrated, errors why a row could not be read."""

    verdict: list[str]
    known_class: list[str]
    p_value: NDArray[np.float64]
    ood_score: FloatArray
    errors: dict[int, str]

    def __len__(self) -> int:
        return len(self.verdict)

    @property
    def n_ood(self) -> int:
        """How many rows are OOD."""
        return self.verdict.count("OOD")

    def part(self, start: int, end: int) -> Verdicts:
        """Rows start to end - 1, none of which has an error."""
        return Verdicts(
            self.verdict[start:end],
            self.known_class[start:end],
            self.p_value[start:end],
            self.ood_score[start:end],
            {},
        )


class Scorer:
    """A classifier made ready to score: what does not change from request to request is looked up once."""

    def __init__(self, model: GDITDClassifier) -> None:
        self._model = model
        self._alpha = float(model.alpha)
        self._rule: Rule = model.summary()["rule"]
        self._names = np.array([*map(str, model.classes_.tolist()), "OOD"], dtype=object)  # OOD is -1, the last
        self._left_out = set(model.ignore)

    def verdicts(
        self, table: pa.Table, *, alpha: float | None = None, on_error: OnError = "raise", rows_before: int = 0
    ) -> Verdicts:
        """Score a table as `GDITDClassifier.verdict` does."""
        table = new_table(self._model, table)
        table = table.drop_columns([name for name in table.column_names if name in self._left_out])
        fitted = self._model.model_
        encoded = fitted.encoder.transform(table, on_error=on_error, rows_before=rows_before)
        judged = judge(fitted, encoded, rule=self._rule, alpha=self._alpha if alpha is None else alpha)
        return Verdicts(
            verdict=self._names[judged.winners].tolist(),
            known_class=self._names[judged.known_class].tolist(),
            p_value=judged.p_value,
            ood_score=judged.ood_score,
            errors=encoded.row_errors,
        )


def as_documents(verdicts: Verdicts, *, with_errors: bool) -> list[dict[str, Any]]:
    """One JSON object a row."""
    documents: list[dict[str, Any]] = [
        {"verdict": verdict, "known_class": known, "p_value": p, "ood_score": score}
        for verdict, known, p, score in zip(
            verdicts.verdict, verdicts.known_class, verdicts.p_value.tolist(), verdicts.ood_score.tolist(), strict=True
        )
    ]
    if with_errors:
        for row, document in enumerate(documents):
            document["error"] = verdicts.errors.get(row)
    return documents
