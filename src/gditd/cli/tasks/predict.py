"""Verdicts on a table, piece by piece, in one process or several."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

from gditd import GDITDClassifier
from gditd.atomic import write_atomically
from gditd.cli.console import tell
from gditd.cli.progress import bar
from gditd.cli.tasks.desk import Desk, Orders, Part, Task, version_of
from gditd.cli.tasks.models import load_classifier, notes_on_alpha
from gditd.cli.tasks.tables import STDIN, RowCount, pieces, refuse_same_file, refuse_unwritable
from gditd.cli.tasks.writers import CsvWriter, Writer, format_of, writer_for
from gditd.crew import Crew
from gditd.processes import usable_cores
from gditd.training.runtime import one_thread
from gditd.verdict_columns import Tally

WORTH_SECONDS = 4.0  # of work left, for more processes to be worth their start

MakeWriter = Callable[[BinaryIO], Writer]
Report = Callable[[int, int | None], None]


def predict(
    path: Path,
    table: Path,
    *,
    out: Path | None,
    alpha: float | None,
    n_reasons: int | None,
    on_error: Literal["raise", "ood"],
    quiet: bool,
    workers: int | None = None,
) -> None:
    """Write the table with its verdicts to a file, or as CSV to stdout.

    `workers` processes do it together; None stands for one on every core, where the work is long enough for that.
    """
    to_stdout = out is None or out == STDIN
    make_writer: MakeWriter = CsvWriter
    if out is not None and not to_stdout:
        make_writer = writer_for(out)
        refuse_unwritable(out)
        refuse_same_file(out, table, path)
    orders = Orders(path, version_of(path), alpha, n_reasons, on_error, format_of(make_writer))
    model = load_classifier(path).set_params(on_error=on_error)
    judge = Judge(model, alpha, n_reasons, Others(orders, workers))
    with bar("scoring", "rows", quiet=quiet) as report:
        if out is None or to_stdout:
            judge.pour(table, sys.stdout.buffer, make_writer, report)
        else:
            write_atomically(out, lambda temporary: judge.fill(table, temporary, make_writer, report))
    if quiet:
        return
    for note in [*judge.notes, *notes_on_alpha(model, alpha)]:
        tell(f"note: {note}")
    tell(judge.outcome() + ("" if to_stdout else f" Written to {out}."))


@dataclass(frozen=True)
class Others:
    """What other processes are to do, and how many processes there are to be; None: as many as are worth it."""

    orders: Orders
    workers: int | None

    @property
    def helpers(self) -> int:
        """How many processes to start at most."""
        return (usable_cores() if self.workers is None else self.workers) - 1

    def worth_it(self, seconds: float, done: int, total: int | None) -> bool:
        """Whether to start them, after so many seconds and rows. Of a table of unknown length half is thought left."""
        left = seconds if total is None else seconds * (total - done) / max(done, 1)
        return self.workers is not None or left >= WORTH_SECONDS


@dataclass
class Judge:
    """A model at work on one table, alone unless others help, and the tally of its verdicts."""

    model: GDITDClassifier
    alpha: float | None
    n_reasons: int | None
    others: Others | None = None
    tally: Tally = field(default_factory=Tally)
    notes: dict[str, None] = field(default_factory=dict)

    @property
    def flagged(self) -> int:
        """The rows called OOD."""
        return self.tally.flagged

    def fill(self, table: Path, path: Path, make_writer: MakeWriter, report: Report) -> None:
        """Write to a file."""
        with path.open("wb") as file:
            self.pour(table, file, make_writer, report)

    def pour(self, table: Path, file: BinaryIO, make_writer: MakeWriter, report: Report) -> None:
        """Read, judge and write piece after piece; memory holds a few of them."""
        writer = make_writer(file)
        count = RowCount(table)
        desk = Desk(self.model, self.alpha, self.n_reasons, format_of(make_writer))
        with one_thread(), closing(self._parts(desk, table, count)) as parts:
            for number, part in enumerate(parts):
                if number == 0:
                    writer.settle(part.schema)
                writer.put(part.ready)
                self.tally.add(part.tally)
                self.notes |= dict.fromkeys(part.notes)
                report(self.tally.rows, count.total)
        writer.close()

    def outcome(self) -> str:
        """The tally for people."""
        rows, flagged, unread = self.tally.rows, self.tally.flagged, self.tally.unread
        share = f" ({flagged / rows:.1%})" if rows else ""
        because = f", {unread:,} of them because they could not be read" if unread else ""
        return f"{rows:,} rows, {flagged:,} OOD{share}{because}."

    def _parts(self, desk: Desk, table: Path, count: RowCount) -> Generator[Part]:
        """Every piece of the table, judged, in its order. The first settles the columns, so it is judged here."""
        read = count.counted(pieces(table))
        started = time.monotonic()
        first = desk.judged(Task(next(read)))
        yield first
        tasks = (Task(piece, count.rows, first.schema) for piece in read)
        others = self.others
        if others is None:
            yield from map(desk.judged, tasks)
            return
        with Crew(
            desk.judged,
            others.orders.judging,
            helpers=others.helpers,
            worth=lambda: others.worth_it(time.monotonic() - started, self.tally.rows, count.total),
        ) as crew:
            yield from crew.results(tasks)
