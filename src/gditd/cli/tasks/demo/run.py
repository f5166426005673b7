"""The demo from end to end: simulate, learn, judge, and tell."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gditd import GDITDClassifier, load
from gditd.atomic import whole_folder
from gditd.cli.console import collected_notes, print_json
from gditd.cli.progress import bar
from gditd.cli.tasks.demo import story
from gditd.cli.tasks.demo.files import Files, refuse_unfit_folder
from gditd.cli.tasks.demo.tables import NEVER_SEEN, TARGET, desk_tables
from gditd.cli.tasks.explain import explanations
from gditd.cli.tasks.fit import learn
from gditd.cli.tasks.predict import Judge
from gditd.cli.tasks.tables import split_target
from gditd.cli.tasks.writers import CsvWriter, write_table
from gditd.report import evaluate_report
from gditd.report.outcomes import outcomes
from gditd.tables import read_table

REASONS_IN_VERDICTS = 3


def demo(out: Path, *, rows: int, seed: int, json: bool, quiet: bool) -> None:
    """Do what `gditd fit`, `predict`, `evaluate` and `explain` do, one after the other, on simulated disputes."""
    refuse_unfit_folder(out)
    told = not (json or quiet)
    started = time.monotonic()
    with whole_folder(out) as folder:
        files = Files(folder)
        if told:
            story.opening(rows)
        for table, path in zip(desk_tables(rows, seed), (files.train, files.new), strict=True):
            write_table(table, path, CsvWriter)
        with collected_notes() as notes:
            model, learned = learned_from(files, seed, quiet=quiet)
        if told:
            story.learned(learned, notes)
        with collected_notes():  # that the column with the kind is not looked at, as it should be
            judge = Judge(model, alpha=None, n_reasons=REASONS_IN_VERDICTS)
            judge.fill(files.new, files.verdicts, CsvWriter, unwatched)
            figures = evaluated(model, files, Files(out))
            explained = strangest(files)
    document = {
        "folder": str(out),
        "files": Files(out).named(),
        "seconds": round(time.monotonic() - started, 3),
        "seed": seed,
        "notes": notes,
        "learned": learned,
        "never_seen": NEVER_SEEN,
        "flagged": judge.flagged,
        "evaluation": figures,
        "strangest": explained,
    }
    if json:
        print_json(document)
    elif told:
        story.judged(document, outcomes(model, figures))
        story.reasons(explained)
        story.next_steps(Files(out), explained)


def learned_from(files: Files, seed: int, *, quiet: bool) -> tuple[GDITDClassifier, dict[str, Any]]:
    """The model of the training table, saved, and what to say about it."""
    started = time.monotonic()
    table, labels = split_target(read_table(files.train), TARGET)
    with bar("learning", "epochs", quiet=quiet) as tell_progress:
        model = learn(table, labels, tell_progress, random_state=seed)
    model.save(files.model)
    spent = round(time.monotonic() - started, 3)
    return model, {"rows": table.num_rows, "seconds": spent, **model.summary()}


def unwatched(done: int, total: int | None) -> None:
    """Take what is done and say nothing: judging takes a second."""


def evaluated(model: GDITDClassifier, files: Files, there: Files) -> dict[str, Any]:
    """The figures of the new disputes; the report names files where they will be in the end."""
    rows, labels = split_target(read_table(files.new), TARGET)
    context = {"model": str(there.model), "table": str(there.new), "label column": TARGET}
    return evaluate_report(model, rows, labels, None, files.report, context=context)


def strangest(files: Files) -> list[dict[str, Any]]:
    """The strangest dispute that was caught and the strangest false alarm, explained as `gditd explain` does.

    The stranger of the two comes first; there may be only one of them, or none.
    """
    verdicts = read_table(files.verdicts)
    score, kind = as_array(verdicts, "ood_score"), as_array(verdicts, TARGET)
    flagged = as_array(verdicts, "verdict") == "OOD"
    groups = [np.flatnonzero(flagged & (kind == NEVER_SEEN)), np.flatnonzero(flagged & (kind != NEVER_SEEN))]
    places = [int(group[score[group].argmax()]) for group in groups if len(group)]
    if not places:
        return []
    model = load(files.model).set_params(on_error="ood")  # made just now: nobody need vouch for it
    found = explanations(model, files.new, sorted(place + 1 for place in places))
    documents = [{TARGET: kind[document["row"] - 1], **document} for document, _ in found]
    return sorted(documents, key=lambda document: -document["ood_score"])


def as_array(table: pa.Table, name: str) -> np.typing.NDArray[Any]:
    """One column's values."""
    values: np.typing.NDArray[Any] = table.column(name).to_numpy()
    return values
