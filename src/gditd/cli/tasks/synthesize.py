"""Release a table file as mixtures of its rows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from rich.table import Table

from gditd.atomic import write_atomically
from gditd.cli.console import out as console_out
from gditd.cli.console import percent, print_json
from gditd.cli.progress import bar
from gditd.cli.tasks.tables import refuse_same_file, refuse_unwritable
from gditd.cli.tasks.writers import write_table, writer_for
from gditd.synthesis import synthesize
from gditd.tables import read_table


def synthesize_file(
    path: Path,
    target: str,
    *,
    out: Path,
    rows: int | None,
    neighbours: int,
    seed: int,
    ignore: tuple[str, ...],
    check: bool,
    json: bool,
    quiet: bool,
) -> None:
    """Mix, write, and say what the release gives away."""
    make_writer = writer_for(out)
    refuse_unwritable(out)
    refuse_same_file(out, path)
    started = time.monotonic()
    real = read_table(path, target)
    with bar("mixing", "rows", quiet=quiet) as report:
        made = synthesize(
            real, target, rows=rows, neighbours=neighbours, seed=seed, ignore=ignore, check=check, progress=report
        )
    write_atomically(out, lambda temporary: write_table(made.table, temporary, make_writer))
    document = {
        "table": str(out),
        "rows_real": real.num_rows,
        "rows_released": made.table.num_rows,
        "columns": made.table.column_names,
        "neighbours": neighbours,
        "seed": seed,
        "seconds": round(time.monotonic() - started, 3),
        "notes": list(made.notes),
        "privacy": None,
        "utility": None,
        **({} if made.report is None else made.report.to_dict()),
    }
    if json:
        print_json(document)
    elif not quiet:
        show(document)


def show(document: dict[str, Any]) -> None:
    """The report for people."""
    console = console_out()
    console.print(
        f"Released {document['rows_released']:,} mixtures of {document['rows_real']:,} rows, "
        f"{len(document['columns'])} columns, in {document['seconds']:.1f} s."
    )
    if document["privacy"] is not None:
        console.print(privacy_table(document["privacy"]))
        console.print(closeness(document["privacy"]))
        console.print(usefulness(document["utility"]))
    for note in document["notes"]:
        console.print(f"note: {note}")
    console.print(
        f"\nWritten to {document['table']}. This is not differential privacy: look at the rows before sharing."
    )


def privacy_table(privacy: dict[str, Any]) -> Table:
    """Distances of released and of real rows, side by side."""
    table = Table()
    table.add_column("distance to the nearest real row")
    for heading in ("closest 1 %", "closest 5 %", "median"):
        table.add_column(heading, justify="right")
    for name, key in (("of released rows", "released_to_real"), ("of real rows, to another", "real_to_real")):
        table.add_row(name, *(f"{value:.3g}" for value in privacy[key].values()))
    return table


def closeness(privacy: dict[str, Any]) -> str:
    """Copies and near ones, in a sentence."""
    return (
        f"Exact copies of real rows: {privacy['exact_copies']}. As near to a real row as the closest 5 % of real rows "
        f"are to each other: {percent(privacy['closer_share'])} of released rows."
    )


def usefulness(utility: dict[str, Any] | None) -> str:
    """What a model learns from the release, in a sentence."""
    if utility is None:
        return "Usefulness not measured: two classes with rows enough for two halves are needed."
    return (
        f"A forest trained on {utility['train_rows']:,} real rows gets {percent(utility['accuracy_real'])} of "
        f"{utility['test_rows']:,} other real rows right (balanced {percent(utility['balanced_accuracy_real'])}), "
        f"trained on mixtures of them {percent(utility['accuracy_synthetic'])} "
        f"(balanced {percent(utility['balanced_accuracy_synthetic'])})."
    )
