"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gditd.cli.trust import VARIABLE


def between_0_and_1(value: float | None) -> float | None:
    """Refuse an alpha that is no share."""
    if value is not None and not 0 < value < 1:
        raise typer.BadParameter(f"{value:g} does not lie between 0 and 1")
    return value


ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file that gditd fit has written.", show_default=False)
]
Table = Annotated[
    Path,
    typer.Argument(metavar="TABLE", help="CSV (also .gz), Parquet, Arrow, Feather or JSON lines.", show_default=False),
]
Target = Annotated[
    str, typer.Option("--target", metavar="COL", help="The column that holds each row's class.", show_default=False)
]
OtherAlpha = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        metavar="A",
        callback=between_0_and_1,
        help="The share of each known class that may be called OOD, instead of the one the model was fitted with.",
        show_default=False,
    ),
]
Verify = Annotated[
    Path | None,
    typer.Option(
        "--verify",
        envvar=VARIABLE,
        metavar="PUBLIC_KEY",
        help="Take a model only if it was signed with the private key that belongs to this public one.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar, no notes, no closing summary.")]
