"""Tasks: units of work on known tables, how far they are, and how their failure is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gditd.bench.units import Unit


@dataclass(frozen=True)
class Task:
    """A unit to do, and the table it is about."""

    unit: Unit
    fingerprint: str


@dataclass
class BenchProgress:
    """How far a run is: jobs done and their number, and the share of the work done, as far as it can be guessed."""

    jobs_done: int
    jobs: int
    share: float


OnProgress = Callable[[BenchProgress], None]


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


def failure(task: Task, error: Exception) -> str:
    """Say what failed, in one line."""
    unit = task.unit
    first = unit.cells[0]
    what = " ".join(str(error).split()) or type(error).__name__
    return f"{', '.join(unit.methods)} on {unit.experiment.dataset}, MDSR {first.mdsr:g}, fold {first.fold}: {what}"
