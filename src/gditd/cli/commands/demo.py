"""`gditd demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gditd.cli.examples import examples
from gditd.cli.options import Json, Quiet

NAME = "demo"
EXAMPLES = examples(
    ("half a minute; the files are in gditd-demo", "gditd demo"),
    ("other disputes, in a folder of your choice", "gditd demo --seed 1 --out other-disputes"),
    ("a quicker look, with less to learn from", "gditd demo --rows 3000"),
    ("for scripts", "gditd demo --json | jq .evaluation.ood_recall"),
)


def command(
    *,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="The folder for tables, model, verdicts and report.")
    ] = Path("gditd-demo"),
    rows: Annotated[
        int, typer.Option("--rows", metavar="N", min=500, help="Disputes in all; seven in ten are learned from.")
    ] = 12_000,
    seed: Annotated[
        int,
        typer.Option(
            "--seed", metavar="N", min=0, max=2**32 - 1, help="The same seed gives the same disputes and model."
        ),
    ] = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """See it work: learn from simulated card disputes, then judge new ones, some of a kind nobody has labelled.

    Everything is made up. The tables, the model, the verdicts and a report are left in a folder for you to play with.
    """
    from gditd.cli.tasks.demo.run import demo  # noqa: PLC0415 - torch takes seconds, help should not

    demo(out, rows=rows, seed=seed, json=json, quiet=quiet)
