"""Do one unit of work: fit its methods on its cells and measure them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from gditd import __version__
from gditd.bench.encoding import PreparedCell
from gditd.bench.journal import Job, Record
from gditd.bench.measure import measure
from gditd.bench.methods import method
from gditd.bench.tables import load_table
from gditd.bench.units import Unit
from gditd.detectors.together import Lesson, fit_together
from gditd.training import Progress

Report = Callable[[float], None]
"""Called with the share of a unit that is done."""


def do_unit(unit: Unit, fingerprint: str, data: str | None, report: Report) -> list[Record]:
    """Fit and measure, on one thread."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rare classes and unseen categories are what is measured here
        table = load_table(unit.experiment, data)
        cells = [PreparedCell.of(table, cell) for cell in unit.cells]
        work = {"network": do_networks, "rows": do_rows, "table": do_table}[method(unit.methods[0]).kind]
        return [record(unit, fingerprint, *done) for done in work(unit, cells, report)]


Done = tuple[PreparedCell, str, dict[str, Any]]


def do_networks(unit: Unit, cells: list[PreparedCell], report: Report) -> list[Done]:
    """Train the networks of all cells as one cohort."""
    width = max(cell.encoder.width for cell in cells)
    made = [
        {name: method(name).make(cell.cell.seed, unit.experiment.epochs) for name in unit.methods} for cell in cells
    ]
    lessons = [
        Lesson(list(detectors.values()), cell.encoded(cell.split.train, width), cell.codes(cell.split.train))
        for cell, detectors in zip(cells, made, strict=True)
    ]
    started = time.perf_counter()
    fit_together(lessons, progress=lambda progress: report(share_done(progress)))
    # Each is charged its share of the cohort; a network that several methods share counts for each of them.
    seconds = (time.perf_counter() - started) / len(cells)
    del lessons
    done = []
    for cell, detectors in zip(cells, made, strict=True):
        rows, codes = cell.encoded(cell.test_rows, width), cell.codes(cell.test_rows)
        for name, detector in detectors.items():
            figures = measure(detector, rows, codes, minority=cell.minority)
            done.append((cell, name, {**figures, "fit_seconds": seconds}))
    return done


def do_rows(unit: Unit, cells: list[PreparedCell], report: Report) -> list[Done]:
    """Fit a method on encoded rows."""
    return [
        fit_and_measure(unit, cell, name, cell.encoded(cell.split.train), cell.encoded(cell.test_rows))
        for cell in cells
        for name in unit.methods
    ]


def do_table(unit: Unit, cells: list[PreparedCell], report: Report) -> list[Done]:
    """Fit the package's classifier on the raw table."""
    return [
        fit_and_measure(unit, cell, name, cell.table.take(cell.split.train), cell.table.take(cell.test_rows))
        for cell in cells
        for name in unit.methods
    ]


def fit_and_measure(unit: Unit, cell: PreparedCell, name: str, train: Any, test: Any) -> Done:
    """Fit one method on one cell."""
    fitted = method(name).make(cell.cell.seed, unit.experiment.epochs)
    codes = cell.codes(cell.split.train)
    started = time.perf_counter()
    fitted.fit(train, codes)
    seconds = time.perf_counter() - started
    figures = measure(fitted, test, cell.codes(cell.test_rows), minority=cell.minority)
    return cell, name, {**figures, "fit_seconds": seconds}


def share_done(progress: Progress) -> float:
    """How much of the training is done."""
    return progress.epoch / progress.max_epochs


def record(unit: Unit, fingerprint: str, cell: PreparedCell, name: str, figures: dict[str, Any]) -> Record:
    """The record of one method on one cell."""
    job = Job.of(unit.experiment, cell.table.name, fingerprint, cell.cell, name)
    rows = cell.split
    plain = {metric: None if value is None else float(np.round(value, 6)) for metric, value in figures.items()}
    return Record(job, plain, len(rows.train), len(rows.test), len(rows.ood), __version__)
