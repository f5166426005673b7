"""The table of an experiment: features in Arrow, classes as text, from a known data set or a file."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gditd.bench.experiment import BenchError, Experiment
from gditd.datasets import Dataset, dataset_names, load_dataset
from gditd.tables import read_table, to_arrow
from gditd.tables.columns import as_text

Rows = NDArray[np.int64]

SMALLEST_SAMPLE = 50  # rows of a class that sampling a table keeps, where the class has them


@dataclass(frozen=True)
class BenchTable:
    """Features, the class of each row as text, and the roles of the classes where the data set has them."""

    name: str
    features: pa.Table
    labels: NDArray[np.str_]
    class_names: dict[str, str]  # each class as written in `labels`, and its name for people
    ood_class: str | None = None
    minority_class: str | None = None

    def take(self, rows: Rows) -> pa.Table:
        """Features of these rows."""
        return self.features.take(pa.array(rows))

    def class_of(self, wanted: str, option: str) -> str:
        """Find a class by how it is written or by its name."""
        if wanted in self.class_names:
            return wanted
        named = [label for label, name in self.class_names.items() if name == wanted]
        if len(named) != 1:
            known = ", ".join(self.class_names)
            raise BenchError(f"{option}: {self.name} has no class '{wanted}'; its classes are {known}")
        return named[0]

    def fingerprint(self) -> str:
        """A digest of all values, by which the results of another table are told apart."""
        digest = hashlib.blake2b(self.labels.tobytes(), digest_size=8)
        for name, column in zip(self.features.column_names, self.features.itercolumns(), strict=True):
            digest.update(name.encode())
            for chunk in column.chunks:
                # A slice would share its buffers with rows that do not belong to it.
                for buffer in pa.concat_arrays([chunk]).buffers():
                    digest.update(buffer or b"")
        return digest.hexdigest()


def load_table(experiment: Experiment, data: str | None) -> BenchTable:
    """Load the table of an experiment; the last one stays in memory."""
    folder = data if data is not None else os.environ.get("GDITD_DATA")
    return _load(experiment.dataset, experiment.target, experiment.ignore, experiment.max_rows, folder)


@lru_cache(maxsize=1)
def _load(
    dataset: str, target: str | None, ignore: tuple[str, ...], max_rows: int | None, data: str | None
) -> BenchTable:
    table = from_dataset(load_dataset(dataset, data)) if target is None else from_file(Path(dataset), target)
    for column in ignore:
        if column not in table.features.column_names:
            raise BenchError(f"--ignore: {table.name} has no column '{column}'")
    table = replace(table, features=table.features.drop_columns(list(ignore)))
    rows = sample(table.labels, max_rows)
    if len(rows) == len(table.labels):
        return table
    return replace(table, features=table.take(rows), labels=table.labels[rows])


def from_dataset(dataset: Dataset) -> BenchTable:
    """Take a known data set, all its rows."""
    names = {str(label): name for label, name in zip(dataset.classes, dataset.class_names, strict=True)}
    features = to_arrow(dataset.X).rename_columns(list(dataset.feature_names))
    labels = np.asarray(dataset.y).astype(str)
    return BenchTable(dataset.name, features, labels, names, str(dataset.ood_class), str(dataset.minority_class))


def from_file(path: Path, target: str) -> BenchTable:
    """Read a table file; rows without a class are refused."""
    table = read_table(path, target)
    if target not in table.column_names:
        known = ", ".join(f'"{name}"' for name in table.column_names)
        raise BenchError(f'"{path}" has no column "{target}" (--target); its columns are {known}')
    column = as_text(table[target])
    missing = np.flatnonzero(pc.is_null(column).to_numpy(zero_copy_only=False))
    if len(missing):
        raise BenchError(f'column "{target}" of "{path}" is empty in row {missing[0] + 1}: label it or leave it out')
    labels = column.to_numpy(zero_copy_only=False).astype(str)
    names = {label: label for label in np.unique(labels).tolist()}
    return BenchTable(path.name.split(".")[0], table.drop_columns([target]), labels, names)


def refuse_unknown(experiment: Experiment) -> None:
    """Say what is missing where a table is neither a data set nor a readable file."""
    if experiment.target is None and experiment.dataset not in dataset_names():
        known = ", ".join(dataset_names())
        if Path(experiment.dataset).exists():
            raise BenchError(f'"{experiment.dataset}" is a file: name its label column with --target COL')
        raise BenchError(f"'{experiment.dataset}' is neither a file nor a known data set ({known})")


def sample(labels: NDArray[Any], max_rows: int | None) -> Rows:
    """Draw at most about `max_rows` rows, each class in proportion, but no class below SMALLEST_SAMPLE rows."""
    rows = np.arange(len(labels))
    if max_rows is None or len(rows) <= max_rows:
        return rows
    rng = np.random.default_rng(0)
    parts = []
    for label in np.unique(labels):
        own = rng.permutation(rows[labels == label])
        parts.append(own[: max(round(max_rows * len(own) / len(rows)), SMALLEST_SAMPLE)])
    return np.sort(np.concatenate(parts))
