"""The `gditd` command."""

import os
import sys

from gditd.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; this is what `gditd` in a shell calls."""
    try:
        app()
    finally:
        let_go_of_closed_pipes()


def let_go_of_closed_pipes() -> None:
    """Flush what was printed; where nobody reads any more, keep Python from complaining when it flushes at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
