"""Columns that are not as they were in training."""

from __future__ import annotations

from gditd.report.charts import Bar, bars, figure
from gditd.report.drift import ColumnDrift
from gditd.report.material import Absent, Material, Part
from gditd.report.page import note, paragraph
from gditd.report.tables import Cell, Text, table
from gditd.report.words import columns_text, name, rows_text

MOST_LISTED = 40
MOST_BARS = 15
FEWEST_ROWS = 20

RULE = (
    "A column counts as drifted if more than 1 % of its values lie outside the training range or are categories "
    "training did not have; if its median moved by more than a fifth of the range that held nine in ten training "
    "values, or the share of true or of the most common category by ten points; or if the share of missing values "
    "changed by five points. Few rows differ by chance, so each limit is at least three standard errors. All rows "
    "count, those of unseen classes too, so another mix of classes shows here as well."
)


def drifted(material: Material, drifts: list[ColumnDrift]) -> Part | Absent:
    """Columns beyond a limit, ranked by how far."""
    title = "Columns that drifted"
    if material.source != "new":
        why = "these are the rows that the model learned its columns from: gditd evaluate --report compares new rows"
        return Absent(title, why)
    n_rows = len(material.scored.classes)
    if n_rows < FEWEST_ROWS:
        return Absent(title, f"{rows_text(n_rows)} are too few to compare: it takes {FEWEST_ROWS}")
    beyond = [drift for drift in drifts if drift.changes]
    if not beyond:
        said = f"None of {columns_text(len(drifts))} drifted."
        return Part("drift", title, paragraph(said) + note(RULE))
    said = f"{len(beyond):,} of {columns_text(len(drifts))} are not as they were in training."
    items = [
        Bar(name(drift.column), drift.times_limit, f"{drift.times_limit:.1f} times") for drift in beyond[:MOST_BARS]
    ]
    caption = "The largest change of each column, in multiples of its limit."
    if len(beyond) > MOST_BARS:
        caption += f" The {MOST_BARS} columns that changed most."
    drawing = bars(items, title="Columns that drifted", unit="times the limit")
    rows: list[list[Cell]] = [
        [
            name(drift.column),
            Text([change.words for change in drift.changes]),
            Text([drift.kind]),
            f"{drift.times_limit:.1f}",
        ]
        for drift in beyond[:MOST_LISTED]
    ]
    notes = [f"{len(beyond) - MOST_LISTED:,} more are not listed."] if len(beyond) > MOST_LISTED else []
    listing = table(
        "What changed", ["column", "here, and in training", "kind", "times the limit"], rows, notes=[*notes, RULE]
    )
    return Part("drift", title, paragraph(said) + figure("Change against the limit", drawing, caption) + listing)
