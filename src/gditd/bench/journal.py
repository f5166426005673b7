"""Results on disk: a line for each finished cell and method, and the tables made of them.

The journal only grows, a line at a time, so a run that is stopped at any moment has lost at most the work under way.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import pandas as pd

from gditd.atomic import write_atomically
from gditd.bench.experiment import BenchError, Experiment
from gditd.bench.measure import METRICS, Figures
from gditd.bench.protocol import Cell

JOURNAL = "results.jsonl"
RUNS = "runs.jsonl"


@dataclass(frozen=True)
class Job:
    """One method on one cell: all that its figures depend on."""

    dataset: str
    fingerprint: str
    max_rows: int | None
    ood_class: str
    minority_class: str
    mdsr: float
    fold: int
    folds: int
    seed: int
    method: str
    epochs: int | None

    @classmethod
    def of(cls, experiment: Experiment, dataset: str, fingerprint: str, cell: Cell, method: str) -> Job:
        """The job of a method on a cell of an experiment."""
        return cls(
            dataset=dataset,
            fingerprint=fingerprint,
            max_rows=experiment.max_rows,
            **asdict(cell),
            method=method,
            epochs=experiment.epochs,
        )


@dataclass(frozen=True)
class Record:
    """A job that is done: its figures, and what it took them from."""

    job: Job
    figures: Figures
    n_train: int
    n_test: int
    n_ood: int
    version: str


class Journal:
    """The records of a folder; without a folder they live in memory only."""

    def __init__(self, records: Iterable[Record] = (), file: IO[bytes] | None = None) -> None:
        self.records = {record.job: record for record in records}
        self._file = file

    def add(self, records: Iterable[Record]) -> None:
        """Keep finished jobs; they are on disk when this returns."""
        for record in records:
            self.records[record.job] = record
            if self._file is not None:
                self._file.write(json.dumps(asdict(record), ensure_ascii=False).encode() + b"\n")
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())

    def select(self, jobs: Iterable[Job]) -> list[Record]:
        """The records of these jobs, where they are done."""
        return [self.records[job] for job in jobs if job in self.records]


@contextmanager
def open_journal(folder: Path | None) -> Iterator[Journal]:
    """Open the journal of a folder, alone: two runs that write to one folder would do the same work."""
    if folder is None:
        yield Journal()
        return
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / JOURNAL).open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BenchError(f"another run is writing to {folder}: wait for it, or choose another --out") from None
        yield Journal(read_records(file, folder / JOURNAL), file)


@dataclass(frozen=True)
class Run:
    """One run that added results to a folder."""

    date: str
    command: str
    workers: int
    seconds: float
    new_results: int


def add_run(folder: Path, run: Run) -> list[Run]:
    """Note a run that added results; returns all of the folder, so that their times can be told together."""
    path = folder / RUNS
    earlier = [Run(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []
    runs = [*earlier, run] if run.new_results else earlier
    lines = [json.dumps(asdict(run), ensure_ascii=False) + "\n" for run in runs]
    write_atomically(path, lambda temporary: put_text(temporary, "".join(lines)))
    return runs


def read_records(file: IO[bytes], path: Path) -> list[Record]:
    """Read what is there; a last line cut short by a crash is cut off the file."""
    file.seek(0)
    lines = file.read().splitlines(keepends=True)
    whole = [line for line in lines if line.endswith(b"\n")]
    if len(whole) < len(lines):
        file.truncate(sum(map(len, whole)))
    return [parsed(line, number, path) for number, line in enumerate(whole, 1)]


def parsed(line: bytes, number: int, path: Path) -> Record:
    """One line as a record."""
    try:
        document: dict[str, Any] = json.loads(line)
        return Record(**(document | {"job": Job(**document["job"])}))
    except (ValueError, TypeError, KeyError) as error:
        raise BenchError(
            f"{path}, line {number} is not a result of this program: move the file away ({error})"
        ) from None


def tidy(records: Iterable[Record]) -> pd.DataFrame:
    """One row a figure; NaN where a figure is not defined."""
    columns = ["dataset", "ood_class", "minority_class", "mdsr", "method", "fold", "seed", "metric", "value"]
    rows = [
        [*(getattr(record.job, name) for name in columns[:-2]), metric, record.figures.get(metric)]
        for record in records
        for metric in METRICS
    ]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype({"value": float})


def means(results: pd.DataFrame) -> pd.DataFrame:
    """Means over folds and seeds in the form of results, with "mean" in the place of a fold."""
    by = ["dataset", "ood_class", "minority_class", "mdsr", "method", "metric"]
    averaged = results.groupby(by, sort=False)["value"].mean().reset_index()
    return averaged.assign(fold="mean", seed=None)[list(results.columns)]


def as_document(results: pd.DataFrame) -> list[dict[str, Any]]:
    """Results, then means, in plain values for JSON; null where a figure is not defined."""
    return plain_rows(results) + plain_rows(means(results))


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dictionaries, NaN as None."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict(orient="records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def write_tables(results: pd.DataFrame, folder: Path) -> None:
    """Write results.csv, results.parquet and results.json, each whole."""
    document = json.dumps(as_document(results), indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(folder / "results.csv", lambda path: results.to_csv(path, index=False))
    write_atomically(folder / "results.parquet", lambda path: results.to_parquet(path, index=False))
    write_atomically(folder / "results.json", lambda path: put_text(path, document + "\n"))


def put_text(path: Path, text: str) -> None:
    """Write text."""
    path.write_text(text, encoding="utf-8")
