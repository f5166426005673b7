"""False alarms: what was promised for each class, and what came."""

from __future__ import annotations

from typing import Any

from gditd.report.charts import Bar, bars, figure, legend
from gditd.report.charts.figure import LEGEND_LINE
from gditd.report.material import Absent, Material, Part
from gditd.report.outcomes import Outcome, outcomes
from gditd.report.page import note, paragraph
from gditd.report.tables import Cell, Figure, Text, table
from gditd.report.words import ABSENT, name, percent

MOST_LISTED = 200
OUTCOMES: dict[Outcome, str] = {
    "none": ABSENT,
    "kept": "within the promise",
    "chance": "above, within chance",
    "together": "above; promised with others only",
    "broken": "above, more than chance explains",
}
HELD_OUT = "These rows set the thresholds, so the share of them called OOD is close to alpha by construction."


def alarms(material: Material) -> Part | Absent:
    """Shares of known rows called OOD, beside what is promised."""
    classes = material.figures["classes"]
    if not any(known["rows"] for known in classes):
        return Absent("False alarms, promised and measured", "there is no row of a class the model knows: add some")
    said = material.model.summary()["proven"] if material.alpha == material.model.alpha else ""
    body = paragraph(said) if said else ""
    if material.source == "held out":
        body += note(HELD_OUT)
    return Part(
        "alarms", "False alarms, promised and measured", body + chart(material, classes) + listing(material, classes)
    )


def chart(material: Material, classes: list[dict[str, Any]]) -> str:
    """A bar for each class, with its promise marked."""
    drawn = [classes[c] for c in material.charted_classes() if classes[c]["rows"]]
    items = [
        Bar(name(known["class"]), known["false_alarm_rate"], percent(known["false_alarm_rate"]), known["promise"])
        for known in drawn
    ]
    drawing = bars(items, title="Known rows called OOD, by class", unit="share of the class's rows", percent=True)
    promised = any(known["promise"] is not None for known in drawn)
    mark = LEGEND_LINE.format("var(--ood)", ' stroke-dasharray="4 3"')
    caption = "Rows of each known class that were called OOD." + material.left_out_of_charts()
    return figure(
        "Known rows called OOD", drawing, caption, key=legend([(mark, "promised at most")] if promised else [])
    )


def listing(material: Material, classes: list[dict[str, Any]]) -> str:
    """The same in numbers, with accuracy."""
    found = outcomes(material.model, material.figures)
    rows: list[list[Cell]] = [
        [
            name(known["class"]),
            f"{known['rows']:,}",
            Figure(percent(known["accuracy"]), known["accuracy"]),
            Figure(percent(known["false_alarm_rate"]), known["false_alarm_rate"]),
            Figure("no promise" if known["promise"] is None else percent(known["promise"]), known["promise"]),
            Text([OUTCOMES[outcome]]),
        ]
        for known, outcome in list(zip(classes, found, strict=True))[:MOST_LISTED]
    ]
    headings = ["class", "rows", "right class", "called OOD", "promised at most", "outcome"]
    notes = [] if len(classes) <= MOST_LISTED else [f"{len(classes) - MOST_LISTED:,} more classes are not listed."]
    together = material.model.promises()
    together = together[together["calibrated_with"] != ""]["class"].tolist()
    if together:
        shared = ", ".join(name(label) for label in together[:20])
        notes.append(f"Too rare for a promise of their own, calibrated together: {shared}.")
    return table("Known classes", headings, rows, notes=notes)
