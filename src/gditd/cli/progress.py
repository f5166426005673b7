"""A progress bar with the time left, on stderr."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from gditd.cli.console import err


class Report(Protocol):
    """Takes what is done and, where known, the total; `shown` is what people read in their place."""

    def __call__(self, done: int, total: int | None, shown: str | None = None) -> None:
        """Tell how far the work is."""


@contextmanager
def bar(what: str, unit: str, *, quiet: bool) -> Iterator[Report]:
    """Show how far the work is; call the report with what is done and, where known, the total.

    Only a terminal gets one: in a log it would be noise, and an error must stay the only line.
    """
    console = err()
    progress = Progress(
        TextColumn(what),
        BarColumn(),
        TextColumn("{task.fields[done]} " + unit),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )
    with progress:
        task = progress.add_task(what, total=None, done="0")

        def report(done: int, total: int | None, shown: str | None = None) -> None:
            total = None if total is None else max(total, done)  # a total may be an estimate
            shown = shown or (f"{done:,}" if total is None else f"{done:,} of {total:,}")
            progress.update(task, completed=done, total=total, done=shown)

        yield report
