"""`gditd inspect`."""

from __future__ import annotations

from gditd.cli.examples import examples
from gditd.cli.options import Json, ModelFile

NAME = "inspect"
EXAMPLES = examples(
    ("classes, promises and columns", "gditd inspect m.gditd"),
    ("the smallest alpha of each class", "gditd inspect m.gditd --json | jq '.classes\\[].smallest_alpha'"),
)


def command(model: ModelFile, json: Json = False) -> None:
    """Show what a model knows: classes, what is proven about false alarms, columns."""
    from gditd.cli.tasks.inspect import inspect  # noqa: PLC0415 - torch takes seconds, help should not

    inspect(model, json=json)
