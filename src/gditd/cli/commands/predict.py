"""`gditd predict`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gditd.cli.examples import examples
from gditd.cli.options import ModelFile, OtherAlpha, Quiet, Verify
from gditd.cli.trust import only_signed_by

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
    (
        "on a Spark cluster, Parquet in and out",
        "gditd predict m.gditd new.parquet --engine spark --master spark://host:7077 --out verdicts",
    ),
    ("only with a model that we have signed", "gditd predict m.gditd new.csv --verify our.pub.pem --out verdicts.csv"),
)


class OnError(StrEnum):
    """What to do about a row that cannot be read."""

    stop = "raise"
    ood = "ood"


class Engine(StrEnum):
    """What does the work."""

    local = "local"
    spark = "spark"


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
        typer.Option(
            "--out",
            metavar="FILE",
            help="Where to write. Default: CSV to stdout. With --engine spark, a new folder of Parquet files.",
            show_default=False,
        ),
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
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            min=1,
            help="Processes that judge together. Default: one on every core, where the work takes more than seconds.",
            show_default=False,
        ),
    ] = None,
    engine: Annotated[
        Engine, typer.Option("--engine", help="Who does the work: processes of this machine, or Spark, from Parquet.")
    ] = Engine.local,
    master: Annotated[
        str | None,
        typer.Option(
            "--master",
            metavar="URL",
            help="With --engine spark: the master, such as spark://host:7077 or yarn. Default: this machine, local[*].",
            show_default=False,
        ),
    ] = None,
    verify: Verify = None,
    quiet: Quiet = False,
) -> None:
    """Give each row its class, or OOD: the table's columns plus verdict, known_class, p_value and ood_score.

    The table may be larger than memory. A file appears under its name only when it is complete.
    """
    if engine is Engine.spark and workers is not None:
        raise ValueError("--workers is for --engine local: with Spark the master decides, as in --master local[4]")
    if engine is Engine.local and master is not None:
        raise ValueError("--master is for --engine spark: add that, or leave --master out")
    # Imported where they are needed: torch takes seconds, help should not, and pyspark may be missing.
    with only_signed_by(verify):
        if engine is Engine.spark:
            from gditd.cli.tasks.predict_spark import predict_on_spark  # noqa: PLC0415

            predict_on_spark(
                model,
                table,
                master=master or "local[*]",
                out=out,
                alpha=alpha,
                n_reasons=explain,
                on_error=on_error.value,
                quiet=quiet,
            )
        else:
            from gditd.cli.tasks.predict import predict  # noqa: PLC0415

            predict(
                model,
                table,
                out=out,
                alpha=alpha,
                n_reasons=explain,
                on_error=on_error.value,
                workers=workers,
                quiet=quiet,
            )
