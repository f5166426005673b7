"""How commands end: quietly, or with one line on stderr and an exit code that scripts can rely on."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import typer
from typer.core import TyperGroup

from gditd.cli.console import tell

BAD_INPUT = 2
INTERRUPTED = 130
FAULT = 70  # what a program of its own fault ends with, by convention

TRACEBACK = "GDITD_TRACEBACK"

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
        except SystemExit as end:
            if not nobody_reads(end):
                raise
            code = 0
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt:
            tell("interrupted: no file was written")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # no error: `main` sees to it
            raise
        except (ValueError, OSError) as error:
            tell(f"error: {one_line(reason(error))}")
            raise typer.Exit(BAD_INPUT) from None
        except (typer.Exit, typer.Abort, UsageError):
            raise
        except Exception as error:
            if TRACEBACK in os.environ:
                raise
            code, words = unforeseen(error)
            tell(f"error: {words}")
            raise typer.Exit(code) from None


def unforeseen(error: Exception) -> tuple[int, str]:
    """The exit code and the line for an error that no command expects: a lack of memory, or a fault in the program."""
    said = one_line(reason(error))
    if isinstance(error, MemoryError) or "not enough memory" in said:  # torch has no error of its own for it
        return BAD_INPUT, "there is not enough memory for this: use fewer rows or columns, or a larger machine"
    return FAULT, (
        f"this is a fault in gditd, please report it ({type(error).__name__}: {said}); "
        f"with {TRACEBACK}=1 in the environment it shows where it is"
    )


def reason(error: Exception) -> str:
    """What an error says, without the number the system gives it."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def one_line(text: str) -> str:
    """The text without line breaks."""
    return " ".join(text.split())


def where_to_look(error: Any) -> str:
    """The command whose help answers a usage error."""
    context = getattr(error, "ctx", None)
    return f" (see {context.command_path} --help)" if context is not None else ""


def nobody_reads(end: SystemExit) -> bool:
    """Whether the program ends because whoever read its output has seen enough, as in `| head`.

    typer, and rich by itself, then leave with code 1; what they caught is the only trace of the closed pipe.
    """
    return isinstance(end.__context__, BrokenPipeError)


@contextmanager
def if_interrupted(words: Callable[[], str]) -> Iterator[None]:
    """Where Ctrl-C would leave files behind: what to say of them, in the place of "no file was written"."""
    try:
        yield
    except KeyboardInterrupt:
        tell(f"interrupted: {words()}")
        raise typer.Exit(INTERRUPTED) from None
