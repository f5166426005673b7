"""Worker processes of one thread each, gone at the end whatever happens."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.queues import Queue
from typing import Any, ClassVar

from gditd.bench.experiment import BenchError
from gditd.bench.journal import Record
from gditd.bench.tasks import Reporter, Task, failure
from gditd.bench.worker import do_unit
from gditd.processes import one_thread_each

POLL_SECONDS = 0.5


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


# --- in a worker process ---


class _Worker:
    """What a worker process keeps between tasks."""

    reports: ClassVar[Queue[tuple[int, float]]]


def start_worker(reports: Queue[tuple[int, float]]) -> None:
    """Prepare a worker: Ctrl-C is the parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=die_with_parent, daemon=True).start()
    _Worker.reports = reports


def die_with_parent() -> None:
    """End this worker when its parent is gone, even one that was killed and could not say so."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def do_task(number: int, task: Task, data: str | None) -> list[Record]:
    """Do a task and tell the parent how far it is."""
    return do_unit(task.unit, task.fingerprint, data, lambda share: _Worker.reports.put((number, share)))
