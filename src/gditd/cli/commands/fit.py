"""`gditd fit`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gditd.cli.examples import examples
from gditd.cli.options import Json, Quiet, Target, between_0_and_1

NAME = "fit"
EXAMPLES = examples(
    ("writes parts.gditd here", "gditd fit parts.csv --target state"),
    (
        "leave columns out, choose the file",
        "gditd fit cases.parquet --target kind --ignore id --ignore name --out m.gditd",
    ),
    ("fewer false alarms", "gditd fit parts.csv --target state --alpha 0.01"),
    ("every rare row trains, for a weaker promise", "gditd fit parts.csv --target state --calibration cross"),
    ("with cases that belong to no class", "gditd fit parts.csv --target state --ood unknown.csv"),
    ("with a page on what it learned", "gditd fit parts.csv --target state --report parts.html"),
    ("signed, for others to verify", "gditd fit parts.csv --target state --sign our.key.pem"),
    ("larger than memory: a folder of Parquet files", "gditd fit cases/ --target kind --out cases.gditd"),
    ("go on with a fit that was stopped", "gditd fit parts.csv --target state --resume"),
    ("for scripts", "gditd fit parts.csv --target state --json > fit.json"),
)


class Preset(StrEnum):
    """Named settings."""

    default = "default"
    fast = "fast"
    paper = "paper"


class Calibration(StrEnum):
    """How false alarms are kept rare."""

    cross = "cross"
    held_out = "split"


def command(
    train: Annotated[
        Path,
        typer.Argument(
            metavar="TRAIN",
            help="Labelled rows: CSV (also .gz), Parquet (also a folder of files), Arrow, Feather or JSON lines.",
            show_default=False,
        ),
    ],
    *,
    target: Target,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="MODEL",
            help="Where to write the model. Default: TRAIN's name with .gditd, in this folder.",
            show_default=False,
        ),
    ] = None,
    preset: Annotated[
        Preset,
        typer.Option("--preset", help="fast: one member, quicker to fit and score. paper: DNN-GDITD to the letter."),
    ] = Preset.default,
    alpha: Annotated[
        float,
        typer.Option(
            "--alpha",
            metavar="A",
            callback=between_0_and_1,
            help="The share of each class's own new rows that may be called OOD.",
        ),
    ] = 0.05,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="COL", help="A column to leave out; may be repeated.", show_default=False),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, max=2**32 - 1, help="The same seed gives the same model.")
    ] = 0,
    calibration: Annotated[
        Calibration | None,
        typer.Option(
            "--calibration",
            help="cross: every row trains, about 2 alpha is proven, were the columns' ranges known. split: up to three "
            "rows in ten only calibrate, alpha is proven. Default: what the preset has.",
            show_default=False,
        ),
    ] = None,
    keep_examples: Annotated[
        bool,
        typer.Option(
            "--keep-examples/--no-examples",
            help="Keep some training rows in the model, for explain to show the most similar one, or none.",
        ),
    ] = False,
    ood: Annotated[
        Path | None,
        typer.Option(
            "--ood",
            metavar="TABLE",
            help="A few rows known to be of no class, with TRAIN's columns: rows like them are caught better.",
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report", metavar="FILE", help="Write a page of charts on what was learned too.", show_default=False
        ),
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(
            "--sign",
            metavar="PRIVATE_KEY",
            help="Sign the model with a key that gditd keygen has made, so that others can verify who made it.",
            show_default=False,
        ),
    ] = None,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Read Parquet a few rows at a time, check all of them and learn from a sample of each class, rare "
            "classes whole; or read it whole. Default: what its size in memory asks for.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on where the same command was stopped, to the same model. What is learned is kept every ten "
            "seconds in MODEL.checkpoint, which is gone when the model is written.",
        ),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn the classes of a labelled table and write a model."""
    from gditd.cli.tasks.fit import fit  # noqa: PLC0415 - torch takes seconds, help should not

    fit(
        train,
        target,
        out=out,
        preset=preset.value,
        alpha=alpha,
        ignore=tuple(ignore or ()),
        seed=seed,
        calibration=None if calibration is None else calibration.value,
        keep_examples=keep_examples,
        ood=ood,
        report=report,
        sign=sign,
        stream=stream,
        resume=resume,
        json=json,
        quiet=quiet,
    )
