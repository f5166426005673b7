"""The table: classes and their balance, columns and their gaps."""

from __future__ import annotations

from collections import Counter

from gditd.report.charts import Bar, bars, figure
from gditd.report.drift import ColumnDrift
from gditd.report.material import Material, Part
from gditd.report.page import paragraph
from gditd.report.tables import Cell, Text, table
from gditd.report.words import columns_text, listed, name, percent
from gditd.tables import ColumnSchema

MOST_COLUMNS = 20  # listed
MOST_UNSEEN = 20
PLURALS = {"number": "numbers", "category": "categories", "boolean": "booleans", "datetime": "datetimes"}


def data(material: Material, drifts: list[ColumnDrift]) -> Part:
    """Rows of each class, and columns."""
    return Part(
        "data", "Data and class balance", balance(material) + unseen_classes(material) + columns(material, drifts)
    )


def balance(material: Material) -> str:
    """How many rows the model learned each class from."""
    counts = material.model.class_counts_
    total, largest, smallest = int(counts.sum()), int(counts.max()), int(counts.min())
    said = f"Training had {total:,} rows of {len(counts):,} class{'es' * (len(counts) > 1)}."
    if largest >= 2 * smallest:
        said += f" The largest class has {largest / smallest:,.0f} times as many rows as the rarest."
    items = [
        Bar(material.names[c], float(counts[c]), f"{counts[c]:,} ({percent(counts[c] / total)})")
        for c in material.charted_classes()
    ]
    caption = "Rows of each class in the training table." + material.left_out_of_charts()
    drawing = bars(items, title="Training rows of each class", unit="rows")
    return paragraph(said) + figure("Training rows of each class", drawing, caption)


def unseen_classes(material: Material) -> str:
    """The classes that training did not see, if there are any."""
    unseen = material.figures["unseen_classes"]
    if not unseen:
        return ""
    rows = [[name(c["class"]), f"{c['rows']:,}", percent(c["ood_recall"])] for c in unseen[:MOST_UNSEEN]]
    notes = [f"The {MOST_UNSEEN} largest of {len(unseen):,}."] if len(unseen) > MOST_UNSEEN else []
    return table("Classes that training did not see", ["class", "rows", "called OOD"], rows, notes=notes)


def columns(material: Material, drifts: list[ColumnDrift]) -> str:
    """Columns by kind, what was not used, and where values are missing."""
    schema = material.model.model_.encoder.schema_
    kinds = Counter(column.kind for column in schema.used)
    said = f"The model uses {columns_text(len(schema.used))}: "
    said += listed([kind_words(kind, count) for kind, count in kinds.most_common()]) + "."
    constant = [name(column.name) for column in schema.columns if column.kind == "constant"]
    if constant:
        said += f" Not used, because they have one value in all training rows: {listed(constant, 20)}."
    if material.model.ignore:
        said += f" Left out on request: {listed([name(column) for column in material.model.ignore], 20)}."
    here = {drift.column: drift.missing for drift in drifts}
    gaps = [column for column in schema.used if column.share_missing or here[column.name]]
    said += f" Values are missing in {columns_text(len(gaps))}." if gaps else " No value is missing."
    return paragraph(said) + column_table(material, schema.used, here)


def kind_words(kind: str, count: int) -> str:
    """How many columns are of a kind."""
    return f"{count:,} {PLURALS[kind] if count > 1 else kind}"


def column_table(material: Material, used: tuple[ColumnSchema, ...], here: dict[str, float]) -> str:
    """Columns with most gaps first, in the table's order among equals."""
    shown = sorted(used, key=lambda column: -max(column.share_missing, here[column.name]))[:MOST_COLUMNS]
    new = material.source == "new"
    headings = ["column", "kind", "missing in training", *(["missing here"] if new else []), "values in training"]
    rows: list[list[Cell]] = [
        [
            name(column.name),
            Text([column.kind]),
            percent(column.share_missing),
            *([percent(here[column.name])] if new else []),
            Text([name(column.summary())]),
        ]
        for column in shown
    ]
    notes = [f"{len(used) - MOST_COLUMNS:,} more columns are not listed."] if len(used) > MOST_COLUMNS else []
    return table("Columns, those with most missing values first", headings, rows, notes=notes)
