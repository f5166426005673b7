"""Whether promises on false alarms were kept, leaving room for chance."""

from __future__ import annotations

from typing import Any, Literal

from scipy.stats import betabinom

from gditd import GDITDClassifier

Outcome = Literal["none", "kept", "chance", "together", "broken"]

CHANCE = 0.01  # a promise is broken if so many false alarms came up less often than this where it holds


def outcomes(model: GDITDClassifier, figures: dict[str, Any]) -> list[Outcome]:
    """What became of the promise of each class, in the order of `classes_`."""
    calibrator = model.model_.calibrator
    if calibrator is None:
        return ["none" for _ in figures["classes"]]
    alone = (model.promises()["calibrated_with"] == "").tolist()
    counts = calibrator.counts.tolist()
    return [outcome(known, counts[c], alone=alone[c]) for c, known in enumerate(figures["classes"])]


def outcome(known: dict[str, Any], calibration_rows: int, *, alone: bool) -> Outcome:
    """What became of one class's promise.

    The promise is a mean over calibration draws. Of a draw of n rows, the share called OOD has a beta distribution
    around it, so false alarms among m new rows are beta-binomial: a finite calibration makes for more spread than m
    rows alone have.
    """
    if known["promise"] is None or not known["rows"]:
        return "none"
    if known["false_alarm_rate"] <= known["promise"]:
        return "kept"
    if not alone:
        return "together"
    alarms = round(known["false_alarm_rate"] * known["rows"])
    n = calibration_rows + 1
    chance = betabinom.sf(alarms - 1, known["rows"], n * known["promise"], n * (1 - known["promise"]))
    return "broken" if chance < CHANCE else "chance"
