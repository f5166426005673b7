"""Run experiments to the end: skip what is done, use all workers, keep each result as it comes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from gditd import __version__
from gditd.bench.experiment import BenchError, Experiment
from gditd.bench.journal import Job, Journal, Record, open_journal, tidy, write_tables
from gditd.bench.methods import method
from gditd.bench.processes import do_in_processes
from gditd.bench.protocol import cells, left_out, ood_classes, split
from gditd.bench.tables import load_table, refuse_unknown
from gditd.bench.tasks import OnProgress, Reporter, Task, failure
from gditd.bench.units import make_units
from gditd.bench.worker import do_unit


@dataclass
class Outcome:
    """What a run brought: tidy results, remarks, and what failed."""

    results: pd.DataFrame
    new_results: int = 0
    versions: list[str] = field(default_factory=list)  # of gditd, that the results come from
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def run(
    experiments: Experiment | Sequence[Experiment],
    *,
    out: Path | None = None,
    workers: int = 2,
    data: str | os.PathLike[str] | None = None,
    progress: OnProgress | None = None,
) -> pd.DataFrame:
    """Measure, and return tidy results: one row a figure.

    With a folder `out` each result is kept as it comes; a later run with the same folder only does what is missing.
    Fails if any part of the work does; `run_all` tells what failed and keeps the rest.
    """
    outcome = run_all(experiments, out=out, workers=workers, data=data, progress=progress)
    if outcome.failures:
        raise BenchError(f"{len(outcome.failures)} units of work failed, the first: {outcome.failures[0]}")
    return outcome.results


def run_all(
    experiments: Experiment | Sequence[Experiment],
    *,
    out: Path | None = None,
    workers: int = 2,
    data: str | os.PathLike[str] | None = None,
    progress: OnProgress | None = None,
) -> Outcome:
    """Measure as `run` does; what fails is told instead of raised."""
    if workers < 1:
        raise BenchError(f"--workers must be at least 1, got {workers}")
    chosen = [experiments] if isinstance(experiments, Experiment) else list(experiments)
    folder = None if data is None else os.fspath(data)
    for experiment in chosen:
        refuse_unknown(experiment)
        for name in experiment.methods:
            method(name)
    with open_journal(out) as journal:
        tasks, jobs, notes = plan(chosen, journal, folder, workers)
        outcome = Outcome(pd.DataFrame(), notes=notes)
        try:
            reporter = Reporter(tasks, len(jobs), len(journal.select(jobs)), progress)
            for records in do_all(tasks, workers, folder, reporter, outcome.failures):
                journal.add(records)
                outcome.new_results += len(records)
                reporter.finished(len(records))
        finally:  # also when stopped half-way
            measured = journal.select(jobs)
            outcome.results = tidy(measured)
            outcome.versions = list(dict.fromkeys(record.version for record in measured))
            if out is not None:
                write_tables(outcome.results, out)
    others = [version for version in outcome.versions if version != __version__]
    if others:
        outcome.notes.append(measured_before(others, out))
    return outcome


def measured_before(versions: Sequence[str], out: Path | None) -> str:
    """The remark on results of other versions: they are kept, since only the user can tell whether they compare."""
    return (
        f"some results were measured by gditd {', '.join(versions)}, and this is gditd {__version__}: "
        f"to measure them again, choose another folder than {out}"
    )


def plan(
    experiments: Sequence[Experiment], journal: Journal, data: str | None, workers: int
) -> tuple[list[Task], list[Job], list[str]]:
    """What is left to do, the largest first; all jobs, done or not; remarks."""
    tasks: list[Task] = []
    jobs: dict[Job, None] = {}
    notes: dict[str, None] = {}
    for experiment in experiments:
        table = load_table(experiment, data)
        fingerprint = table.fingerprint()
        for label in left_out(table, experiment.folds):
            if ood_classes(experiment, table) != [label]:
                notes[too_rare(label, table.name)] = None
        wanted = []
        own_cells = cells(experiment, table)
        for cell in own_cells:
            for name in experiment.methods:
                job = Job.of(experiment, table.name, fingerprint, cell, name)
                if job not in journal.records and job not in jobs:
                    wanted.append((cell, name))
                jobs[job] = None
        n_rows = len(split(table, own_cells[0]).train)
        units = make_units(experiment, wanted, n_rows=n_rows, n_columns=table.features.num_columns, workers=workers)
        tasks += [Task(unit, fingerprint) for unit in units]
    tasks.sort(key=lambda task: -task.unit.cost)
    return tasks, list(jobs), list(notes)


def too_rare(label: str, table: str) -> str:
    """The remark on a class that is known in no cell."""
    return f"class '{label}' of {table} has fewer rows than there are folds and takes no part as a known class"


def do_all(
    tasks: list[Task], workers: int, data: str | None, reporter: Reporter, failures: list[str]
) -> Iterator[list[Record]]:
    """Do all tasks and yield the records of each as it ends."""
    if min(workers, len(tasks)) <= 1:
        yield from do_here(tasks, data, reporter, failures)
    else:
        yield from do_in_processes(tasks, min(workers, len(tasks)), data, reporter, failures)


def do_here(tasks: list[Task], data: str | None, reporter: Reporter, failures: list[str]) -> Iterator[list[Record]]:
    """Do all tasks in this process."""
    for number, task in enumerate(tasks):
        try:
            records = do_unit(task.unit, task.fingerprint, data, lambda share, n=number: reporter.at(n, share))  # type: ignore[misc]
        except Exception as error:  # one method's failure is no reason to lose the others
            failures.append(failure(task, error))
            continue
        reporter.at(number, 1.0)
        yield records
