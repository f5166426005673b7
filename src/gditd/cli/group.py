"""How commands end: quietly, or with one line on stderr and an exit code that scripts can rely on."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, cast

import typer
from typer.core import TyperGroup

from gditd.cli.console import tell

BAD_INPUT = 2
INTERRUPTED = 130

# ClickException by way of a public name: typer brings its own copy of click or uses click itself, by version.
UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__mro__[2])


class Group(TyperGroup):
    """Turns what a user can cause (bad options, files, tables; Ctrl-C; a closed pipe) into a line and a code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run, and leave with the exit code; usage errors take one line instead of typer's panel."""
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except UsageError as error:
            tell(f"error: {one_line(error.format_message())}{where_to_look(error)}")
            code = BAD_INPUT
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt:
            tell("interrupted: no file was written")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # whoever read our output has seen enough, as in `| head`
            drop_stdout()
        except (ValueError, OSError) as error:
            tell(f"error: {one_line(reason(error))}")
            raise typer.Exit(BAD_INPUT) from None


def reason(error: Exception) -> str:
    """What an error says, without the number the system gives it."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def one_line(text: str) -> str:
    """The text without line breaks."""
    return " ".join(text.split())


def where_to_look(error: Any) -> str:
    """The command whose help answers a usage error."""
    context = getattr(error, "ctx", None)
    return f" (see {context.command_path} --help)" if context is not None else ""


def drop_stdout() -> None:
    """Send what is left in the buffer nowhere, or Python would complain about the closed pipe at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
