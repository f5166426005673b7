"""Measure a model on labelled rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.table import Table

from gditd import GDITDClassifier
from gditd.cli.console import collected_notes, out, percent, print_json, tell
from gditd.cli.progress import bar
from gditd.cli.tasks.classes import class_codes, label_texts
from gditd.cli.tasks.models import load_classifier, notes_on_alpha
from gditd.cli.tasks.tables import chunks, expected_rows, split_target
from gditd.report.collected import Collected
from gditd.report.evaluation import finish
from gditd.report.figures import FIGURES, Scored, measured, score
from gditd.report.write import refuse_unfit_path
from gditd.tables.decimal_marks import with_decimal_points


def evaluate(path: Path, table: Path, target: str, *, alpha: float | None, report: Path | None, json: bool) -> None:
    """Score the table, print the figures, and write a report if one is wanted."""
    if report is not None:
        refuse_unfit_path(report, path, table)
    model = load_classifier(path).set_params(on_error="raise")
    collected = None if report is None else Collected(model)
    parts: list[Scored] = []
    total, done = expected_rows(table), 0
    with collected_notes() as notes, bar("scoring", "rows", quiet=False) as progress:
        for chunk in chunks(table):
            parts.append(look_at(model, chunk, target, collected, alpha=alpha, rows_before=done))
            done += chunk.num_rows
            progress(done, total)
        if not done:
            raise ValueError(f'"{table}" has no rows to measure on')
        scored = Scored.joined(parts)
        document = measured(model, scored, model.alpha if alpha is None else alpha)
        if report is not None and collected is not None:
            context = {"model": str(path), "table": str(table), "label column": target}
            finish(model, scored, collected, document, report, alpha=alpha, context=context)
    if json:
        print_json(document if report is None else document | {"report": str(report)})
        return
    show(document)
    if report is not None:
        out().print(f"Report written to {report}.")
    for note in [*notes, *notes_on_alpha(model, alpha)]:
        tell(f"note: {note}")


def look_at(
    model: GDITDClassifier,
    chunk: pa.Table,
    target: str,
    collected: Collected | None,
    *,
    alpha: float | None,
    rows_before: int,
) -> Scored:
    """Score one chunk, and keep what a report needs of it."""
    rows, column = split_target(chunk, target)
    labels = label_texts(column, target, rows_before)
    if model.classes_.dtype.kind in "iuf":
        column = with_decimal_points(chunk, [target]).column(target)
    classes = class_codes(column, model.classes_)
    scored = score(model, rows, classes, labels, alpha=alpha, rows_before=rows_before)
    if collected is not None and chunk.num_rows:
        numbers = np.arange(rows_before + 1, rows_before + chunk.num_rows + 1)
        collected.add(rows, numbers, scored, labels)
    return scored


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
