"""Measure a model on labelled rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.table import Table

from gditd import GDITDClassifier, metrics
from gditd.cli.console import collected_notes, out, percent, print_json, tell
from gditd.cli.progress import bar
from gditd.cli.tasks.classes import UNSEEN, class_codes, label_texts
from gditd.cli.tasks.models import load_classifier, notes_on_alpha
from gditd.cli.tasks.tables import chunks, expected_rows, split_target
from gditd.summary import finite, plain_label

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


@dataclass(frozen=True)
class Scored:
    """What is kept of each row: a few numbers, so that a table larger than memory can be measured."""

    classes: NDArray[np.int64]
    predicted: NDArray[np.int64]
    flagged: NDArray[np.bool_]
    ood_score: NDArray[np.floating[Any]]
    minority_score: NDArray[np.floating[Any]]
    label: NDArray[Any]  # only of rows whose class is unseen

    @classmethod
    def joined(cls, parts: list[Scored]) -> Scored:
        """All chunks as one."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__annotations__))


def evaluate(path: Path, table: Path, target: str, *, alpha: float | None, json: bool) -> None:
    """Score the table and print the figures."""
    model = load_classifier(path).set_params(on_error="raise")
    minority = int(model.class_counts_.argmin())
    parts: list[Scored] = []
    total, done = expected_rows(table), 0
    with collected_notes() as notes, bar("scoring", "rows", quiet=False) as report:
        for chunk in chunks(table):
            parts.append(score(model, chunk, target, alpha=alpha, minority=minority, rows_before=done))
            done += chunk.num_rows
            report(done, total)
    if not done:
        raise ValueError(f'"{table}" has no rows to measure on')
    alpha_used = model.alpha if alpha is None else alpha
    document = {"alpha": alpha_used} | measured(model, Scored.joined(parts), minority, alpha_used)
    if json:
        print_json(document)
        return
    show(document)
    for note in [*notes, *notes_on_alpha(model, alpha)]:
        tell(f"note: {note}")


def score(
    model: GDITDClassifier, chunk: pa.Table, target: str, *, alpha: float | None, minority: int, rows_before: int
) -> Scored:
    """Score one chunk."""
    rows, labels = split_target(chunk, target)
    texts = label_texts(labels, target, rows_before)
    classes = class_codes(labels, model.classes_)
    verdicts = model.verdict(rows, alpha, rows_before=rows_before)
    return Scored(
        classes=classes,
        predicted=np.searchsorted(model.classes_, verdicts["known_class"].to_numpy()),
        flagged=(verdicts["verdict"] == "OOD").to_numpy(dtype=np.bool_),
        ood_score=verdicts["ood_score"].to_numpy(),
        minority_score=model.predict_proba(rows)[:, minority],
        label=texts[classes == UNSEEN],
    )


def measured(model: GDITDClassifier, rows: Scored, minority: int, alpha: float) -> dict[str, Any]:
    """All figures of the scored rows."""
    is_ood = rows.classes == UNSEEN
    known, predicted = rows.classes[~is_ood], rows.predicted[~is_ood]
    return {
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
    in_force = model.summary()["rule"] == "conformal"
    promises = model.promises(alpha)["promise"].to_numpy() if in_force else np.full(len(model.classes_), np.nan)
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


def show(document: dict[str, Any]) -> None:
    """The figures for people."""
    console = out()
    console.print(
        f"{document['n_rows']:,} rows, {document['n_ood']:,} of them of classes that training did not see (OOD); "
        f"alpha {document['alpha']:g}; rarest class {document['minority_class']}"
    )
    figures = Table("figure", "what it is")
    figures.add_column("value", justify="right")
    for name, meaning in FIGURES.items():
        figures.add_row(name, meaning, percent(document[name]))
    console.print(figures)
    console.print(class_table(document["classes"]))
    if document["unseen_classes"]:
        console.print(unseen_table(document["unseen_classes"]))


def class_table(classes: list[dict[str, Any]]) -> Table:
    """Known classes."""
    table = Table("known class")
    for name in ("rows", "accuracy", "called OOD", "proven at most"):
        table.add_column(name, justify="right")
    for known in classes:
        shares = [percent(known[name]) for name in ("accuracy", "false_alarm_rate", "promise")]
        table.add_row(str(known["class"]), f"{known['rows']:,}", *shares)
    return table


def unseen_table(classes: list[dict[str, Any]], most: int = 20) -> Table:
    """Classes unseen in training, the largest."""
    title = f"the {most} largest of {len(classes):,}" if len(classes) > most else None
    table = Table("unseen class", caption=title)
    for name in ("rows", "called OOD"):
        table.add_column(name, justify="right")
    for unseen in classes[:most]:
        table.add_row(unseen["class"], f"{unseen['rows']:,}", percent(unseen["ood_recall"]))
    return table
