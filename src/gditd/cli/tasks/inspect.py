"""Show what a model knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from gditd.cli.console import out, percent, print_json
from gditd.cli.tasks.fit import members, promise_table
from gditd.cli.tasks.models import load_classifier
from gditd.summary import forecast_words


def inspect(path: Path, *, json: bool) -> None:
    """Print a model's summary."""
    document = {"model": str(path), **load_classifier(path).summary()}
    if json:
        print_json(document)
    else:
        show(document)


def show(document: dict[str, Any]) -> None:
    """The summary for people."""
    console = out()
    console.print(
        f"{document['model']}: preset {document['preset']}, {members(document['members'])}, "
        f"alpha {document['alpha']:g}, rule {document['rule']}, calibration {document['calibration']}, "
        f"temperature {document['temperature']:.3g}"
    )
    console.print(promise_table(document["classes"]))
    console.print(document["proven"])
    if document["rule"] == "conformal":
        console.print(forecast_words(document["forecast"]))
    if document["forecast"] is not None:
        console.print(left_out_table(document["forecast"]["left_out"]))
    console.print(f"Judged by: {views_words(document['views'])}")
    console.print()
    console.print(column_table(document["columns"]))
    if document["ignored"]:
        console.print(f"Left out: {', '.join(document['ignored'])}")


def left_out_table(classes: list[dict[str, Any]]) -> Table:
    """How well each known class was caught while it was left out."""
    table = Table()
    for heading in ("class left out", "AUROC", "called OOD"):
        table.add_column(heading, justify="left" if heading == "class left out" else "right")
    for caught in classes:
        table.add_row(str(caught["class"]), percent(caught["auroc"]), percent(caught["recall"]))
    return table


def views_words(views: dict[str, float]) -> str:
    """The views, the weightiest first."""
    ordered = sorted(views.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {percent(share)}" for name, share in ordered)


def column_table(columns: list[dict[str, Any]]) -> Table:
    """Columns with their kind, share of missing values and range."""
    table = Table()
    for name in ("column", "kind", "missing", "in training"):
        table.add_column(name, justify="right" if name == "missing" else "left")
    for column in columns:
        table.add_row(column["column"], column["kind"], percent(column["missing"]), column["summary"])
    return table
