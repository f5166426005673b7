"""`gditd export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gditd.cli.examples import examples
from gditd.cli.options import Json, ModelFile, OtherAlpha, Quiet, Verify
from gditd.cli.trust import only_signed_by
from gditd.integrations.onnx import Numbers

NAME = "export"
EXAMPLES = examples(
    ("the whole model as one ONNX graph", "gditd export m.gditd m.onnx"),
    ("with another alpha where a caller gives none", "gditd export m.gditd m.onnx --alpha 0.01"),
    ("for JavaScript, which needs alpha to be an input like any", "gditd export m.gditd m.onnx --require-alpha"),
    (
        "numbers as float64, for ids and amounts of more than seven digits",
        "gditd export m.gditd m.onnx --numbers double",
    ),
)


def command(
    model: ModelFile,
    out: Annotated[Path, typer.Argument(metavar="OUT.onnx", help="The file to write; one that is there is replaced.")],
    *,
    alpha: OtherAlpha = None,
    require_alpha: Annotated[
        bool,
        typer.Option(
            "--require-alpha",
            help="Make alpha an input that callers must give. Without it, it is one with a default, which some "
            "runtimes do not let callers change.",
        ),
    ] = False,
    numbers: Annotated[
        Numbers,
        typer.Option(
            help="What numbers, booleans and alpha are given as: float keeps seven digits of each, take double where a "
            "column needs more."
        ),
    ] = "float",
    verify: Verify = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a model as an ONNX graph, which runs without gditd: columns in, verdicts out (docs/onnx.md)."""
    from gditd.cli.tasks.export import export  # noqa: PLC0415 - torch takes seconds, help should not

    with only_signed_by(verify):
        export(model, out, alpha=alpha, require_alpha=require_alpha, numbers=numbers, json=json, quiet=quiet)
