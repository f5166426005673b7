"""Training rows drawn from Parquet that is larger than memory, with a bar for each pass over it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa

from gditd import GDITDClassifier
from gditd.cli.progress import Report, bar
from gditd.streaming import ParquetSource, Sample, is_parquet
from gditd.tables import read_table


def drawn(train: Path, target: str, *, stream: bool | None, quiet: bool, **settings: Any) -> Sample | None:
    """Draw the rows to learn from; None where the table is to be read whole."""
    if not is_parquet(train):
        if stream:
            raise ValueError(f"--stream reads Parquet, which {train} is not: convert it, or leave --stream out")
        return None
    source = ParquetSource(train, ignore=settings["ignore"])
    if not (source.is_large if stream is None else stream):
        return None
    with Bars(quiet) as bars:
        return GDITDClassifier(**settings)._draw(source, target, tell=bars.tell)


def whole_table(train: Path, target: str) -> pa.Table:
    """A file, or a folder of Parquet files."""
    return ParquetSource(train).read() if train.is_dir() else read_table(train, target)


class Bars:
    """One bar after another, as the work changes."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.what = ""
        self.report: Report | None = None
        self.shown = ExitStack()

    def __enter__(self) -> Bars:
        return self

    def __exit__(self, *_: object) -> None:
        self.shown.close()

    def tell(self, what: str, done: int, total: int) -> None:
        """Go on with the bar, or begin another."""
        if what != self.what or self.report is None:
            self.shown.close()
            self.what, self.report = what, self.shown.enter_context(bar(what, "rows", quiet=self.quiet))
        self.report(done, total)
