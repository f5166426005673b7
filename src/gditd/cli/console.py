"""What is printed, and where: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console

WIDTH_OF_FILES = 120  # a pipe has no width of its own


def out() -> Console:
    """Stdout for people. Text is shown as it is: a column may be named "[bold]"."""
    return plain_console(stderr=False)


def err() -> Console:
    """Stderr, for progress."""
    return plain_console(stderr=True)


def plain_console(*, stderr: bool) -> Console:
    """A console that neither reads markup nor colours numbers."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else WIDTH_OF_FILES
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False, width=width)


def tell(line: str) -> None:
    """One line on stderr; that nobody reads it any more must not change how a command ends."""
    with suppress(BrokenPipeError):
        print(line, file=sys.stderr)


def print_json(document: Any) -> None:
    """One JSON document on stdout."""
    print(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


@contextmanager
def collected_notes() -> Iterator[list[str]]:
    """Collect warnings, each once, instead of showing them where they arise: an error shows its own line only."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        yield notes
    notes += dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught)


def percent(value: float | None) -> str:
    """A share for people."""
    return "-" if value is None else f"{value:.1%}"
