"""Show what a model knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from gditd.cli.console import out, percent, print_json
from gditd.cli.tasks.fit import members, promise_table
from gditd.cli.tasks.models import load_classifier


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
    console.print()
    console.print(column_table(document["columns"]))
    if document["ignored"]:
        console.print(f"Left out: {', '.join(document['ignored'])}")


def column_table(columns: list[dict[str, Any]]) -> Table:
    """Columns with their kind, share of missing values and range."""
    table = Table()
    for name in ("column", "kind", "missing", "in training"):
        table.add_column(name, justify="right" if name == "missing" else "left")
    for column in columns:
        table.add_row(column["column"], column["kind"], percent(column["missing"]), column["summary"])
    return table
