"""How a table is split, the same for every method: a class held out, a rare class made rarer, folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from gditd.bench.experiment import BenchError, Experiment
from gditd.bench.tables import BenchTable, Rows


@dataclass(frozen=True, order=True)
class Cell:
    """One split of a table."""

    ood_class: str
    minority_class: str
    mdsr: float
    fold: int  # from 1
    folds: int
    seed: int


@dataclass(frozen=True)
class Split:
    """Training rows, known test rows, and the rows of the class held out: all of them are tested."""

    train: Rows
    test: Rows
    ood: Rows


def cells(experiment: Experiment, table: BenchTable) -> list[Cell]:
    """All splits of an experiment."""
    return [
        Cell(ood_class, minority_class(experiment, table, ood_class), mdsr, fold, experiment.folds, seed)
        for ood_class in ood_classes(experiment, table)
        for mdsr in experiment.mdsr
        for seed in experiment.seeds
        for fold in experiment.measured_folds
    ]


def ood_classes(experiment: Experiment, table: BenchTable) -> list[str]:
    """The classes to hold out in turn."""
    chosen = experiment.ood_classes or ((table.ood_class,) if table.ood_class is not None else ())
    if not chosen:
        known = ", ".join(table.class_names)
        raise BenchError(f"--ood-class: say which class of {table.name} plays the unknown one: {known}")
    return [table.class_of(name, "--ood-class") for name in chosen]


def minority_class(experiment: Experiment, table: BenchTable, ood_class: str) -> str:
    """The class that MDSR makes rarer: the chosen one, else the data set's, else the rarest known one."""
    if experiment.minority_class is not None:
        chosen = table.class_of(experiment.minority_class, "--minority-class")
        if chosen == ood_class:
            raise BenchError(f"--minority-class: class '{chosen}' is held out of training: choose another")
        return with_enough_rows(chosen, experiment, table)
    if table.minority_class not in (None, ood_class):
        return with_enough_rows(str(table.minority_class), experiment, table)
    counts = {label: np.count_nonzero(table.labels == label) for label in kept_classes(table, experiment.folds)}
    counts.pop(ood_class, None)
    if not counts:
        raise BenchError(f"{table.name} has no class besides '{ood_class}' with at least {experiment.folds} rows")
    return min(counts, key=lambda label: counts[label])


def with_enough_rows(label: str, experiment: Experiment, table: BenchTable) -> str:
    """The class itself; BenchError where it is too rare to be a known one, and so has no figure of its own."""
    if label not in kept_classes(table, experiment.folds):
        rows = int(np.count_nonzero(table.labels == label))
        raise BenchError(
            f"the minority class '{label}' of {table.name} has {rows} row{'s' * (rows != 1)}, fewer than "
            f"--folds {experiment.folds}: choose another with --minority-class, or fewer folds"
        )
    return label


def kept_classes(table: BenchTable, folds: int) -> list[str]:
    """Classes with at least a row for each fold; a rarer one would be known in some folds and not in others."""
    labels, counts = np.unique(table.labels, return_counts=True)
    return [str(label) for label in labels[counts >= folds]]


def left_out(table: BenchTable, folds: int) -> list[str]:
    """Classes too rare to take part as known ones; as the OOD class they may."""
    return sorted(set(np.unique(table.labels).tolist()) - set(kept_classes(table, folds)))


def split(table: BenchTable, cell: Cell) -> Split:
    """Draw the rows of a cell; they depend on the table and the cell alone."""
    labels = table.labels
    known = np.flatnonzero(np.isin(labels, kept_classes(table, cell.folds)) & (labels != cell.ood_class))
    known = thinned(known, labels, cell)
    if len(np.unique(labels[known])) < 2:
        raise BenchError(f"{table.name} needs two known classes besides the OOD class '{cell.ood_class}'")
    folds = StratifiedKFold(cell.folds, shuffle=True, random_state=cell.seed).split(known, labels[known])
    train, test = list(folds)[cell.fold - 1]
    return Split(known[train], known[test], np.flatnonzero(labels == cell.ood_class))


def thinned(known: Rows, labels: NDArray[Any], cell: Cell) -> Rows:
    """Keep a share of the minority class, but a row for each fold; a smaller share is part of a larger one."""
    minority = np.random.default_rng(cell.seed).permutation(known[labels[known] == cell.minority_class])
    n_kept = max(round(cell.mdsr * len(minority)), min(cell.folds, len(minority)))
    return np.setdiff1d(known, minority[n_kept:])
