"""`gditd synthesize`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gditd.cli.examples import examples
from gditd.cli.options import Json, Quiet, Table, Target

NAME = "synthesize"
EXAMPLES = examples(
    ("as many rows as the table has", "gditd synthesize cases.csv --target kind --out shareable.csv"),
    (
        "without names and numbers of persons",
        "gditd synthesize cases.parquet --target kind --ignore name --ignore card --out shareable.parquet",
    ),
    ("a small sample", "gditd synthesize cases.csv --target kind --rows 500 --out sample.csv"),
    ("for scripts", "gditd synthesize cases.csv --target kind --out shareable.csv --json > report.json"),
)


def command(
    table: Table,
    *,
    target: Target,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Where to write the released table.", show_default=False)
    ],
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows",
            metavar="N",
            min=1,
            help="Rows in all, classes in their proportions. Default: as many as TABLE has.",
            show_default=False,
        ),
    ] = None,
    neighbours: Annotated[
        int,
        typer.Option(
            "--neighbours", metavar="K", min=2, help="A row is mixed with two of its K nearest neighbours of its class."
        ),
    ] = 5,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, max=2**32 - 1, help="The same seed releases the same rows.")
    ] = 0,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="COL", help="A column not to release; may be repeated.", show_default=False),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Measure how near the release is to real rows, and its worth.")
    ] = True,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a table that can be shown to others from a sensitive one: every row mixes near rows of a class.

    No real row is released, nor a category that fewer than five rows share. This is not differential privacy: see
    docs/synthesize.md for what it protects against and what not.
    """
    from gditd.cli.tasks.synthesize import synthesize_file  # noqa: PLC0415 - torch takes seconds, help should not

    synthesize_file(
        table,
        target,
        out=out,
        rows=rows,
        neighbours=neighbours,
        seed=seed,
        ignore=tuple(ignore or ()),
        check=check,
        json=json,
        quiet=quiet,
    )
