"""Verdicts on a table, chunk by chunk."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from gditd import GDITDClassifier
from gditd.atomic import write_atomically
from gditd.cli.console import collected_notes, tell
from gditd.cli.progress import bar
from gditd.cli.tasks.models import kinds_of_columns, load_classifier, notes_on_alpha
from gditd.cli.tasks.tables import STDIN, chunks, expected_rows, refuse_same_file, refuse_unwritable
from gditd.cli.tasks.typed import typed
from gditd.cli.tasks.writers import TEXT_WRITERS, CsvWriter, Writer, writer_for
from gditd.tables import TableError
from gditd.tables.errors import quoted

EXPLAINED_AT_ONCE = 1_024  # explaining needs many times a row's own memory


def predict(
    path: Path,
    table: Path,
    *,
    out: Path | None,
    alpha: float | None,
    n_reasons: int | None,
    on_error: Literal["raise", "ood"],
    quiet: bool,
) -> None:
    """Write the table with its verdicts to a file, or as CSV to stdout."""
    to_stdout = out is None or out == STDIN
    make_writer: Callable[[BinaryIO], Writer] = CsvWriter
    if out is not None and not to_stdout:
        make_writer = writer_for(out)
        refuse_unwritable(out)
        refuse_same_file(out, table, path)
    model = load_classifier(path).set_params(on_error=on_error)
    judge = Judge(model, alpha, n_reasons)
    with collected_notes() as notes, bar("scoring", "rows", quiet=quiet) as report:
        if out is None or to_stdout:
            judge.pour(table, sys.stdout.buffer, make_writer, report)
        else:
            write_atomically(out, lambda temporary: judge.fill(table, temporary, make_writer, report))
    if quiet:
        return
    for note in [*notes, *notes_on_alpha(model, alpha)]:
        tell(f"note: {note}")
    tell(judge.outcome() + ("" if to_stdout else f" Written to {out}."))


@dataclass
class Judge:
    """A model at work on one table, and the tally of its verdicts."""

    model: GDITDClassifier
    alpha: float | None
    n_reasons: int | None
    rows: int = 0
    flagged: int = 0
    unread: int = 0

    def fill(
        self,
        table: Path,
        path: Path,
        make_writer: Callable[[BinaryIO], Writer],
        report: Callable[[int, int | None], None],
    ) -> None:
        """Write to a file."""
        with path.open("wb") as file:
            self.pour(table, file, make_writer, report)

    def pour(
        self,
        table: Path,
        file: BinaryIO,
        make_writer: Callable[[BinaryIO], Writer],
        report: Callable[[int, int | None], None],
    ) -> None:
        """Read, judge and write chunk after chunk; memory holds one of them."""
        writer = make_writer(file)
        total = expected_rows(table)
        # A CSV keeps the very texts that came in; other formats have numbers and dates.
        kinds = {} if make_writer in TEXT_WRITERS else kinds_of_columns(self.model)
        for chunk in chunks(table):
            writer.write(typed(self.judged(chunk), kinds))
            report(self.rows, total)
        writer.close()

    def judged(self, chunk: pa.Table) -> pa.Table:
        """The chunk with its verdicts."""
        added = self._added_names()
        taken = [name for name in chunk.column_names if name in added]
        if taken:
            raise TableError(
                f"the table already has a column {quoted(taken)}, which predict adds: rename it, or take it out"
            )
        verdicts = self.model.verdict(chunk, self.alpha, rows_before=self.rows)
        is_ood = (verdicts["verdict"] == "OOD").to_numpy(dtype=np.bool_)
        columns = {
            "verdict": pa.array(verdicts["verdict"].map(str), pa.string()),
            "known_class": pa.array(verdicts["known_class"].map(str), pa.string()),
            "p_value": pa.array(verdicts["p_value"].to_numpy(), from_pandas=True),
            "ood_score": pa.array(verdicts["ood_score"].to_numpy()),
        }
        if "error" in verdicts:
            columns["error"] = pa.array(verdicts["error"], pa.string())
            self.unread += len(verdicts) - columns["error"].null_count
        if self.n_reasons is not None:
            columns["reason"] = pa.array(self._reasons(chunk, verdicts, is_ood), pa.string())
        self.rows += len(verdicts)
        self.flagged += int(is_ood.sum())
        for name in added:
            chunk = chunk.append_column(name, columns[name])
        return chunk

    def outcome(self) -> str:
        """The tally for people."""
        share = f" ({self.flagged / self.rows:.1%})" if self.rows else ""
        unread = f", {self.unread:,} of them because they could not be read" if self.unread else ""
        return f"{self.rows:,} rows, {self.flagged:,} OOD{share}{unread}."

    def _added_names(self) -> list[str]:
        names = ["verdict", "known_class", "p_value", "ood_score"]
        names += ["error"] if self.model.on_error == "ood" else []
        return names + (["reason"] if self.n_reasons is not None else [])

    def _reasons(
        self, chunk: pa.Table, verdicts: pd.DataFrame, is_ood: np.typing.NDArray[np.bool_]
    ) -> list[str | None]:
        """The columns that make OOD rows unusual, or why a row could not be read; nothing for known rows."""
        assert self.n_reasons is not None
        reasons: list[str | None] = [None] * len(verdicts)
        errors = verdicts["error"].tolist() if "error" in verdicts else [None] * len(verdicts)
        places, kinds = np.flatnonzero(is_ood), kinds_of_columns(self.model)
        for start in range(0, len(places), EXPLAINED_AT_ONCE):
            here = places[start : start + EXPLAINED_AT_ONCE]
            explained = self.model.explain(typed(chunk.take(here), kinds), n_columns=self.n_reasons)
            for place, explanation in zip(here.tolist(), explained, strict=True):
                texts = [" ".join(str(reason).split()) for reason in explanation.columns]
                reasons[place] = errors[place] or "; ".join(texts)
        return reasons
