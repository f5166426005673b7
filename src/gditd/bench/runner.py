"""Run experiments to the end: skip what is done, use all workers, keep each result as it comes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import pandas as pd

from gditd.bench.experiment import BenchError, Experiment
from gditd.bench.journal import Job, Journal, Record, open_journal, tidy, write_tables
from gditd.bench.methods import method
from gditd.bench.protocol import cells, left_out
from gditd.bench.tables import load_table, refuse_unknown
from gditd.bench.units import Unit, make_units
from gditd.bench.worker import do_unit

POLL_SECONDS = 0.5


@dataclass
class BenchProgress:
    """How far a run is: jobs done and their number, and the share of the work done, as far as it can be guessed."""

    jobs_done: int
    jobs: int
    share: float


OnProgress = Callable[[BenchProgress], None]


@dataclass(frozen=True)
class Task:
    """A unit to do, and the table it is about."""

    unit: Unit
    fingerprint: str


@dataclass
class Outcome:
    """What a run brought: tidy results, remarks, and what failed."""

    results: pd.DataFrame
    new_results: int = 0
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
            outcome.results = tidy(journal.select(jobs))
            if out is not None:
                write_tables(outcome.results, out)
    return outcome


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
            notes[f"class '{label}' of {table.name} has fewer rows than there are folds and is left out"] = None
        wanted = []
        for cell in cells(experiment, table):
            for name in experiment.methods:
                job = Job.of(experiment, table.name, fingerprint, cell, name)
                if job not in journal.records and job not in jobs:
                    wanted.append((cell, name))
                jobs[job] = None
        units = make_units(
            experiment, wanted, n_rows=len(table.labels), n_columns=table.features.num_columns, workers=workers
        )
        tasks += [Task(unit, fingerprint) for unit in units]
    tasks.sort(key=lambda task: -task.unit.cost)
    return tasks, list(jobs), list(notes)


class Reporter:
    """Adds up what workers tell of their progress."""

    def __init__(self, tasks: list[Task], jobs: int, jobs_done: int, callback: OnProgress | None) -> None:
        self.costs = [task.unit.cost for task in tasks]
        self.shares = [0.0] * len(tasks)
        self.jobs, self.jobs_done = jobs, jobs_done
        self.callback = callback
        self._tell()

    def at(self, number: int, share: float) -> None:
        """A task has got so far."""
        self.shares[number] = max(self.shares[number], share)
        self._tell()

    def finished(self, n_jobs: int) -> None:
        """So many more jobs are done."""
        self.jobs_done += n_jobs
        self._tell()

    def _tell(self) -> None:
        if self.callback is not None:
            total = sum(self.costs)
            done = sum(cost * share for cost, share in zip(self.costs, self.shares, strict=True))
            self.callback(BenchProgress(self.jobs_done, self.jobs, done / total if total else 1.0))


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


def do_in_processes(
    tasks: list[Task], workers: int, data: str | None, reporter: Reporter, failures: list[str]
) -> Iterator[list[Record]]:
    """Do all tasks in worker processes of one thread each."""
    context = multiprocessing.get_context("spawn")
    reports: Queue[tuple[int, float]] = context.Queue()
    with one_thread_each(), worker_pool(workers, context, reports) as pool:
        running = {pool.submit(do_task, number, task, data): number for number, task in enumerate(tasks)}
        while running:
            done, _ = wait(running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
            while not reports.empty():
                reporter.at(*reports.get())
            for future in done:
                number = running.pop(future)
                records = result_of(future, tasks[number], failures)
                reporter.at(number, 1.0)
                if records is not None:
                    yield records


def result_of(future: Future[list[Record]], task: Task, failures: list[str]) -> list[Record] | None:
    """The records of a task, or None if it failed."""
    try:
        return future.result()
    except BrokenProcessPool:
        raise BenchError(
            "a worker process was killed, most likely for lack of memory: run again with --workers 1, or fewer rows"
        ) from None
    except Exception as error:  # one method's failure is no reason to lose the others
        failures.append(failure(task, error))
        return None


def failure(task: Task, error: Exception) -> str:
    """Say what failed, in one line."""
    unit = task.unit
    first = unit.cells[0]
    what = " ".join(str(error).split()) or type(error).__name__
    return f"{', '.join(unit.methods)} on {unit.experiment.dataset}, MDSR {first.mdsr:g}, fold {first.fold}: {what}"


@contextmanager
def worker_pool(workers: int, context: Any, reports: Queue[tuple[int, float]]) -> Iterator[ProcessPoolExecutor]:
    """Worker processes that are gone at the end, whatever happens."""
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=start_worker, initargs=(reports,))
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    else:
        pool.shutdown()


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let processes started inside use one thread each: libraries read these variables when they are loaded."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


# --- in a worker process ---

_reports: Queue[tuple[int, float]] | None = None


def start_worker(reports: Queue[tuple[int, float]]) -> None:
    """Prepare a worker: Ctrl-C is the parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=die_with_parent, daemon=True).start()
    sys.modules[__name__].__dict__["_reports"] = reports


def die_with_parent() -> None:
    """End this worker when its parent is gone, even one that was killed and could not say so."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def do_task(number: int, task: Task, data: str | None) -> list[Record]:
    """Do a task and tell the parent how far it is."""
    reports = _reports
    assert reports is not None
    return do_unit(task.unit, task.fingerprint, data, lambda share: reports.put((number, share)))
