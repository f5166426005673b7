"""`gditd explain`."""

from __future__ import annotations

from typing import Annotated

import typer

from gditd.cli.examples import examples
from gditd.cli.options import Json, ModelFile, Table, Verify
from gditd.cli.trust import only_signed_by

NAME = "explain"
EXAMPLES = examples(
    ("rows 1 and 5, and rows 10 to 12", "gditd explain m.gditd new.csv --rows 1,5,10-12"),
    ("every row, for a script", "gditd explain m.gditd new.csv --json > reasons.json"),
)


def command(
    model: ModelFile,
    table: Table,
    rows: Annotated[
        str | None,
        typer.Option(
            "--rows",
            metavar="ROWS",
            help="Which rows, the first being 1: 1,5 or 10-12. Default: all.",
            show_default=False,
        ),
    ] = None,
    verify: Verify = None,
    json: Json = False,
) -> None:
    """Say for each row which columns push it out of the nearest known class, and what would be usual."""
    from gditd.cli.tasks.explain import explain  # noqa: PLC0415 - torch takes seconds, help should not

    with only_signed_by(verify):
        explain(model, table, rows=rows, json=json)
