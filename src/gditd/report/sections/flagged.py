"""The rows called OOD, strangest first, with the reasons."""

from __future__ import annotations

from gditd.explain import Explanation
from gditd.explain.profiles import number
from gditd.report.collected import MOST_FLAGGED
from gditd.report.figures import UNSEEN
from gditd.report.material import Material, Part
from gditd.report.page import paragraph
from gditd.report.tables import Cell, Text, table
from gditd.report.words import name, rows_text

REASONS = 3
LEAST_SHARE = 0.02  # of the reason, for a column to be named besides the first


def flagged(material: Material) -> Part:
    """A table of rows and the columns that make each unusual."""
    total = int(material.scored.flagged.sum())
    title = "Rows called OOD, strangest first"
    if not total:
        return Part("flagged", title, paragraph("No row was called OOD."))
    kept = material.collected.strangest.kept
    kept = kept.take(kept.order.argsort(kind="stable"))
    verdicts = material.model.verdict(kept.rows, material.alpha)
    reasons = material.model.explain(kept.rows, n_columns=REASONS)
    rows: list[list[Cell]] = [
        [
            str(kept.numbers[place]),
            Text(reasons_text(why)),
            Text([name(kept.labels[place]) + (" (unseen)" if kept.classes[place] == UNSEEN else "")]),
            Text([name(why.known_class)]),
            Text([name(why.compared_with)]),
            number(why.ood_score),
            f"{verdicts['p_value'].iloc[place]:.2g}" if material.calibrated else "\N{EN DASH}",
        ]
        for place, why in enumerate(reasons)
    ]
    said = f"{rows_text(total)} {'was' if total == 1 else 'were'} called OOD."
    if total > MOST_FLAGGED:
        said += f" The {MOST_FLAGGED} strangest are listed."
    said += " The share before a column says how much of what sets the row apart is due to it."
    headings = ["row", "what sets it apart", "true class", "nearest class", "compared with", "OOD score", "p-value"]
    return Part("flagged", title, paragraph(said) + table("Strangest rows", headings, rows))


def reasons_text(why: Explanation) -> list[str]:
    """The columns that matter, each with its share, the value seen and what is usual."""
    named = [reason for place, reason in enumerate(why.columns) if not place or reason.share >= LEAST_SHARE]
    return [name(str(reason).strip().replace("  ", ": ", 1), longest=300) for reason in named]
