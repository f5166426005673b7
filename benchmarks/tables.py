"""Real tables, cut to a size and split the way the paper splits: one class out, the others in folds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from gditd.datasets import load_dataset

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Table:
    """A table and its labels."""

    name: str
    X: pd.DataFrame
    y: NDArray[Any]


@dataclass(frozen=True)
class Cell:
    """One split: training rows, known test rows, and all rows of the class left out."""

    table: Table
    ood_class: Any
    minority_class: Any
    train: Rows
    test: Rows
    ood: Rows


def load(name: str, rows_per_class: int | None = None) -> Table:
    """Load a table with at most so many rows of each class; of NSL-KDD the training file."""
    dataset = load_dataset(name)
    X = dataset.X if isinstance(dataset.X, pd.DataFrame) else pd.DataFrame(dataset.X, columns=dataset.feature_names)
    y = np.asarray(dataset.y)
    rows = np.arange(len(y)) if name != "nsl-kdd" else np.flatnonzero(np.asarray(dataset.split) == "train")
    if rows_per_class is not None:
        rng = np.random.default_rng(0)
        parts = [rng.permutation(rows[y[rows] == c])[:rows_per_class] for c in np.unique(y[rows])]
        rows = np.sort(np.concatenate(parts))
    return Table(name, X.iloc[rows].reset_index(drop=True), y[rows])


def cells(table: Table, ood_classes: list[Any], minority_class: Any, mdsr: float = 1.0) -> Iterator[Cell]:
    """The first of five folds for each class left out, with a share `mdsr` of the minority class kept."""
    rng = np.random.default_rng(0)
    for ood_class in ood_classes:
        known = np.flatnonzero(table.y != ood_class)
        minority = rng.permutation(known[table.y[known] == minority_class])
        known = np.setdiff1d(known, minority[max(round(mdsr * len(minority)), 10) :])
        folds = StratifiedKFold(5, shuffle=True, random_state=0).split(known, table.y[known])
        train, test = next(iter(folds))
        ood = np.flatnonzero(table.y == ood_class)
        yield Cell(table, ood_class, minority_class, known[train], known[test], ood)
