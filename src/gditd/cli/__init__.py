"""The `gditd` command."""

import os
import sys
from pathlib import Path

from gditd.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; this is what `gditd` in a shell calls."""
    open_absent_streams()
    try:
        app()
    finally:
        let_go_of_closed_pipes()


def open_absent_streams() -> None:
    """Let what is printed go nowhere where a stream was closed before the start, as in `>&-` or by a supervisor."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - open until the process ends


def let_go_of_closed_pipes() -> None:
    """Flush what was printed; where nobody reads any more, keep Python from complaining when it flushes at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
