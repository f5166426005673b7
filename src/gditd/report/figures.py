"""What is measured on labelled rows, and the few numbers of each row that it is measured from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gditd import GDITDClassifier, metrics
from gditd.summary import finite, plain_label

UNSEEN = -1
"""The class number of a row whose class training did not have."""

FIGURES = {
    "id_accuracy": "known rows whose class is right",
    "balanced_accuracy": "the same, mean over classes",
    "minority_aupr": "average precision of the rarest class",
    "false_alarm_rate": "known rows called OOD",
    "ood_recall": "OOD rows called OOD",
    "ood_auroc": "AUROC of the OOD score",
    "ood_aupr": "average precision of the OOD score",
    "tnr_at_85_tpr": "OOD rows rejected while 85 % of known rows are kept",
}


@dataclass(frozen=True, eq=False)
class Scored:
    """What is kept of each row: a few numbers, so that a table larger than memory can be measured."""

    classes: NDArray[np.int64]
    predicted: NDArray[np.int64]
    flagged: NDArray[np.bool_]
    p_value: NDArray[np.floating[Any]]
    ood_score: NDArray[np.floating[Any]]
    minority_score: NDArray[np.floating[Any]]
    label: NDArray[Any]  # only of rows whose class is unseen

    @classmethod
    def joined(cls, parts: list[Scored]) -> Scored:
        """All chunks as one."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__annotations__))


def score(
    model: GDITDClassifier,
    rows: pa.Table,
    classes: NDArray[np.int64],
    labels: NDArray[Any],
    *,
    alpha: float | None,
    rows_before: int = 0,
) -> Scored:
    """Score rows of given classes, `UNSEEN` where training did not have the label."""
    verdicts = model.verdict(rows, alpha, rows_before=rows_before)
    return Scored(
        classes=classes,
        predicted=np.searchsorted(model.classes_, verdicts["known_class"].to_numpy()),
        flagged=(verdicts["verdict"] == "OOD").to_numpy(dtype=np.bool_),
        p_value=verdicts["p_value"].to_numpy().astype(np.float32),
        ood_score=verdicts["ood_score"].to_numpy(),
        minority_score=model.predict_proba(rows)[:, rarest(model)],
        label=labels[classes == UNSEEN],
    )


def rarest(model: GDITDClassifier) -> int:
    """The number of the class with the fewest training rows."""
    return int(model.class_counts_.argmin())


def measured(model: GDITDClassifier, rows: Scored, alpha: float) -> dict[str, Any]:
    """All figures of the scored rows, in plain values."""
    is_ood, minority = rows.classes == UNSEEN, rarest(model)
    known, predicted = rows.classes[~is_ood], rows.predicted[~is_ood]
    return {
        "alpha": alpha,
        "n_rows": len(is_ood),
        "n_ood": int(is_ood.sum()),
        "id_accuracy": metrics.accuracy(known, predicted),
        "balanced_accuracy": metrics.balanced_accuracy(known, predicted),
        "minority_class": plain_label(model.classes_[minority]),
        "minority_aupr": metrics.class_aupr(known, rows.minority_score[~is_ood], minority),
        "false_alarm_rate": metrics.share(rows.flagged[~is_ood]),
        "ood_recall": metrics.share(rows.flagged[is_ood]),
        "ood_auroc": metrics.ood_auroc(is_ood, rows.ood_score),
        "ood_aupr": metrics.ood_aupr(is_ood, rows.ood_score),
        "tnr_at_85_tpr": metrics.tnr_at_tpr(is_ood, rows.ood_score),
        "classes": by_class(model, known, predicted, rows.flagged[~is_ood], alpha),
        "unseen_classes": by_unseen_class(rows.label, rows.flagged[is_ood]),
    }


def by_class(
    model: GDITDClassifier,
    known: NDArray[np.int64],
    predicted: NDArray[np.int64],
    flagged: NDArray[np.bool_],
    alpha: float,
) -> list[dict[str, Any]]:
    """Accuracy and false alarms of each known class, beside what is promised."""
    promises = model.promises(alpha)["promise"]
    return [
        {
            "class": plain_label(label),
            "rows": int((known == code).sum()),
            "accuracy": metrics.share(predicted[known == code] == code),
            "false_alarm_rate": metrics.share(flagged[known == code]),
            "promise": finite(promises[code]),
        }
        for code, label in enumerate(model.classes_)
    ]


def by_unseen_class(labels: NDArray[Any], flagged: NDArray[np.bool_]) -> list[dict[str, Any]]:
    """Rows and recall of each class that training did not see, the largest first."""
    rows = Counter(labels.tolist())
    caught = Counter(labels[flagged].tolist())
    return [{"class": label, "rows": n, "ood_recall": caught[label] / n} for label, n in rows.most_common()]
