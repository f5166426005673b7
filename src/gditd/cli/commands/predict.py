"""`gditd predict`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gditd.cli.examples import examples
from gditd.cli.options import ModelFile, OtherAlpha, Quiet

NAME = "predict"
EXAMPLES = examples(
    (
        "the format follows the name: csv, csv.gz, parquet, jsonl, arrow",
        "gditd predict m.gditd new.csv --out verdicts.parquet",
    ),
    ("in a pipe, CSV in and out", "zcat new.csv.gz | gditd predict m.gditd - | grep OOD"),
    ("with the three columns that make a row OOD", "gditd predict m.gditd new.csv --explain 3 --out verdicts.csv"),
    (
        "rows that cannot be read are OOD, and say why",
        "gditd predict m.gditd new.csv --on-error ood --out verdicts.csv",
    ),
)


class OnError(StrEnum):
    """What to do about a row that cannot be read."""

    stop = "raise"
    ood = "ood"


def command(
    model: ModelFile,
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="New rows: CSV (also .gz), Parquet, Arrow, Feather or JSON lines; - reads CSV from stdin.",
            show_default=False,
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where to write. Default: CSV to stdout.", show_default=False),
    ] = None,
    alpha: OtherAlpha = None,
    explain: Annotated[
        int | None,
        typer.Option(
            "--explain",
            metavar="K",
            min=1,
            help="Add a column, reason: the K columns that most make an OOD row unusual.",
            show_default=False,
        ),
    ] = None,
    on_error: Annotated[
        OnError,
        typer.Option(
            "--on-error",
            help="A row that cannot be read: raise stops; ood calls it OOD and says why in a column, error.",
        ),
    ] = OnError.stop,
    quiet: Quiet = False,
) -> None:
    """Give each row its class, or OOD: the table's columns plus verdict, known_class, p_value and ood_score.

    The table may be larger than memory. A file appears under its name only when it is complete.
    """
    from gditd.cli.tasks.predict import predict  # noqa: PLC0415 - torch takes seconds, help should not

    predict(model, table, out=out, alpha=alpha, n_reasons=explain, on_error=on_error.value, quiet=quiet)
