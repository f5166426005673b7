"""The `gditd` command."""

import contextlib
import os
import sys

from gditd.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; this is what `gditd` in a shell calls."""
    try:
        app()
    except SystemExit as end:
        leave(end.code if isinstance(end.code, int) else 0)


def leave(code: int) -> None:
    """End the process at once, everything printed.

    Arrow reads ahead on threads of its own, which may call back into Python. An interpreter that winds down under
    them aborts the process, whatever the command had achieved.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):  # nobody reads any more
            stream.flush()
    os._exit(code)
