"""ROC and precision-recall of the OOD score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_curve, roc_curve

from gditd.report.charts import Line, Mark, figure, legend, lines, side_by_side
from gditd.report.charts.figure import line_sample, mark_sample
from gditd.report.charts.marks import SHAPES
from gditd.report.charts.style import colour
from gditd.report.material import Absent, Material, Part
from gditd.report.page import paragraph
from gditd.report.words import percent

MOST_POINTS = 300
CHANCE_DASH = "3 4"
VERDICTS = Mark(SHAPES[3], "var(--ood)")


def curves(material: Material) -> Part | Absent:
    """Both curves, with the point at which the verdicts are."""
    figures, is_ood = material.figures, material.is_unseen
    if figures["ood_auroc"] is None:
        why = "they need rows of known classes and of classes that training did not see"
        return Absent("ROC and precision-recall", f"{why}: give gditd evaluate a table that has both")
    scores = material.scored.ood_score
    false_alarms, found, _ = roc_curve(is_ood, scores)
    precision, recall, _ = precision_recall_curve(is_ood, scores)
    share = float(is_ood.mean())
    flagged = material.scored.flagged
    right = float(is_ood[flagged].mean()) if flagged.any() else None
    roc = lines(
        [Line([(0, 0), (1, 1)], "var(--faint)", CHANCE_DASH), Line(thinned(false_alarms, found), colour(0))],
        title=f"ROC curve, area {percent(figures['ood_auroc'])}",
        axes=("share of known rows called OOD", "share of OOD rows called OOD"),
        unit_square=True,
        marked=[(VERDICTS, (figures["false_alarm_rate"], figures["ood_recall"]))],
    )
    pr = lines(
        [Line([(0, share), (1, share)], "var(--faint)", CHANCE_DASH), Line(thinned(recall, precision), colour(0))],
        title=f"Precision-recall curve, average precision {percent(figures['ood_aupr'])}",
        axes=("recall: share of OOD rows called OOD", "precision: share of rows called OOD that are OOD"),
        unit_square=True,
        marked=[] if right is None else [(VERDICTS, (figures["ood_recall"], right))],
    )
    key = legend(
        [
            (line_sample(colour(0)), "OOD score at every threshold"),
            (mark_sample(VERDICTS), "the verdicts"),
            (line_sample("var(--faint)", CHANCE_DASH), "chance"),
        ]
    )
    said = (
        "How well the OOD score alone parts rows of unseen classes from known ones, whatever the threshold. The "
        "verdicts go by a threshold for each class, so their point may lie off the curve."
    )
    charts = [
        figure("ROC", roc, f"Area under the curve (AUROC) {percent(figures['ood_auroc'])}.", key=key),
        figure("Precision and recall", pr, f"Average precision (AUPR) {percent(figures['ood_aupr'])}.", key=key),
    ]
    return Part("curves", "ROC and precision-recall", paragraph(said) + side_by_side(charts))


def thinned(xs: NDArray[np.float64], ys: NDArray[np.float64]) -> list[tuple[float, float]]:
    """A curve in points enough for the eye: evenly spaced along its length, both ends kept."""
    if len(xs) <= MOST_POINTS:
        return list(zip(xs.tolist(), ys.tolist(), strict=True))
    along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(xs), np.diff(ys)))])
    places = np.searchsorted(along, np.linspace(0, along[-1], MOST_POINTS)).clip(max=len(xs) - 1)
    places = np.unique(np.concatenate([[0], places, [len(xs) - 1]]))
    return list(zip(xs[places].tolist(), ys[places].tolist(), strict=True))
