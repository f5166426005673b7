"""All commands under one name."""

from __future__ import annotations

from typing import Annotated

import typer

from gditd import __version__
from gditd.cli.commands import (
    bench,
    demo,
    evaluate,
    explain,
    export,
    fit,
    inspect,
    keygen,
    predict,
    serve,
    sign,
    synthesize,
)
from gditd.cli.examples import examples
from gditd.cli.group import Group

app = typer.Typer(
    name="gditd",
    cls=Group,
    help="Classify rows of imbalanced tables, and say which rows belong to no class you know.",
    epilog=examples(
        ("see it work on simulated card disputes", "gditd demo"),
        ("learn from labelled rows", "gditd fit parts.csv --target state"),
        ("give verdicts on new rows", "gditd predict parts.gditd new.csv --out verdicts.csv"),
        ("ask why rows 1 and 5 look strange", "gditd explain parts.gditd new.csv --rows 1,5"),
        ("measure on labelled rows", "gditd evaluate parts.gditd test.csv --target state"),
        ("see what a model promises", "gditd inspect parts.gditd"),
        ("run it where there is no Python", "gditd export parts.gditd parts.onnx"),
        ("serve it, with a page for people", "gditd serve parts.gditd"),
        ("compare with other methods on your table", "gditd bench parts.csv --target state --ood-class worn"),
        ("make a table that can be shown to others", "gditd synthesize parts.csv --target state --out shareable.csv"),
    ),
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for module in (fit, predict, evaluate, explain, inspect, export, serve, bench, synthesize, sign, keygen, demo):
    app.command(name=module.NAME, epilog=module.EXAMPLES)(module.command)


def show_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        typer.echo(f"gditd {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Show the help where no command is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
