"""Where pieces of a table are judged and made ready to be written: the same in every process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa
import torch

from gditd import GDITDClassifier
from gditd.cli.console import collected_notes
from gditd.cli.tasks.models import load_classifier
from gditd.cli.tasks.writers import Format, conformed
from gditd.processes import return_large_blocks
from gditd.tables import Piece
from gditd.tables.typed import typed
from gditd.verdict_columns import Tally, VerdictColumns


@dataclass(frozen=True)
class Task:
    """A piece, how many rows of the file came before it, and the columns and types that the first one settled."""

    piece: Piece
    rows_before: int = 0
    schema: pa.Schema | None = None


@dataclass(frozen=True)
class Part:
    """A judged piece: its rows ready for the file, their columns and types, their tally, and notes for people."""

    ready: bytes
    schema: pa.Schema
    tally: Tally
    notes: list[str]


class Desk:
    """A model at work for a file of some format."""

    def __init__(self, model: GDITDClassifier, alpha: float | None, n_reasons: int | None, form: Format) -> None:
        return_large_blocks()  # pieces come and go, in every process
        self._format = form
        self._columns = VerdictColumns(model, alpha, n_reasons)
        # A CSV keeps the very texts that came in; other formats have numbers and dates.
        self._kinds = self._columns.kinds if self._format.typed else {}

    def judged(self, task: Task) -> Part:
        """Judge a piece."""
        with collected_notes() as notes:
            judged = self._columns.added_to(task.piece.table(), task.rows_before)
        table = typed(judged.table, self._kinds)
        if task.schema is not None and self._format.settled:
            table = conformed(table, task.schema)
        return Part(self._format.ready(table), table.schema, judged.tally, notes)


@dataclass(frozen=True)
class Orders:
    """All that another process needs to set up the same desk."""

    model: Path
    version: tuple[int, int] | None
    alpha: float | None
    n_reasons: int | None
    on_error: Literal["raise", "ood"]
    form: Format

    def judging(self) -> Callable[[Task], Part]:
        """Set up the desk, with the model unless it is another one by now; return what judges at it."""
        torch.set_num_threads(1)  # every core has a process of its own
        model = load_classifier(self.model).set_params(on_error=self.on_error)
        if version_of(self.model) != self.version:
            raise ValueError(f"{self.model} was replaced while it was in use: run again")
        return Desk(model, self.alpha, self.n_reasons, self.form).judged


def version_of(model: Path) -> tuple[int, int] | None:
    """What changes when another model is put under the same name; None where there is none."""
    try:
        state = model.stat()
    except OSError:  # loading it will say what is wrong
        return None
    return state.st_ino, state.st_mtime_ns
