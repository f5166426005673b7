"""`gditd evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gditd.cli.examples import examples
from gditd.cli.options import Json, ModelFile, OtherAlpha, Table, Target, Verify
from gditd.cli.trust import only_signed_by

NAME = "evaluate"
EXAMPLES = examples(
    ("a table for people", "gditd evaluate m.gditd test.csv --target state"),
    ("a page with charts and reasons", "gditd evaluate m.gditd test.csv --target state --report test.html"),
    ("one figure for a script", "gditd evaluate m.gditd test.csv --target state --json | jq .ood_auroc"),
)


def command(
    model: ModelFile,
    table: Table,
    *,
    target: Target,
    alpha: OtherAlpha = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report", metavar="FILE", help="Write a page of charts too, with reasons and drift.", show_default=False
        ),
    ] = None,
    verify: Verify = None,
    json: Json = False,
) -> None:
    """Measure a model on labelled rows; classes that training did not see count as OOD."""
    from gditd.cli.tasks.evaluate import evaluate  # noqa: PLC0415 - torch takes seconds, help should not

    with only_signed_by(verify):
        evaluate(model, table, target, alpha=alpha, report=report, json=json)
