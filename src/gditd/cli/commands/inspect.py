"""`gditd inspect`."""

from __future__ import annotations

from typing import Annotated

import typer

from gditd.cli.examples import examples
from gditd.cli.options import Json, ModelFile, Verify
from gditd.cli.trust import only_signed_by

NAME = "inspect"
EXAMPLES = examples(
    ("classes, promises and columns", "gditd inspect m.gditd"),
    ("what of the training table is in it", "gditd inspect m.gditd --privacy"),
    ("the smallest alpha of each class", "gditd inspect m.gditd --json | jq '.classes\\[].smallest_alpha'"),
)


def command(
    model: ModelFile,
    *,
    privacy: Annotated[
        bool, typer.Option("--privacy", help="List what the file holds of the training table instead.")
    ] = False,
    verify: Verify = None,
    json: Json = False,
) -> None:
    """Show what a model knows: classes, what is proven about false alarms, columns."""
    from gditd.cli.tasks.inspect import inspect  # noqa: PLC0415 - torch takes seconds, help should not

    with only_signed_by(verify):
        inspect(model, privacy=privacy, json=json)
