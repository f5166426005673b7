"""What a loaded data set looks like, and the one error that loading raises."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

DataFolder = str | os.PathLike[str] | None


class DatasetError(ValueError):
    """A data set cannot be loaded; the one-line message names the file and the cure."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """One labelled table with the paper's roles for its classes.

    Attributes
    ----------
    name : the name that `load_dataset` knows it by.
    X : (n, d) float array, or a DataFrame where columns are of mixed types.
    y : (n,) class of each row: integers that index `class_names`, or the names themselves.
    class_names : one name per class, in class order.
    feature_names : one name per column of X.
    ood_class : the class that experiments hold out of training, written as in `y`.
    minority_class : the class that experiments make rarer, written as in `y`.
    source : publisher, citation and licence.
    split : (n,) "train" or "test" where the publisher splits the rows, else None.
    groups : (n,) the batch that a row was recorded in, where the publisher says so, else None.
    extra : further per-row arrays by name; never features.
    """

    name: str
    X: NDArray[np.floating[Any]] | pd.DataFrame
    y: NDArray[Any]
    class_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    ood_class: int | str
    minority_class: int | str
    source: str
    split: NDArray[np.str_] | None = None
    groups: NDArray[np.int64] | None = None
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        per_row = {"y": self.y, "split": self.split, "groups": self.groups, **self.extra}
        for what, values in per_row.items():
            if values is not None and len(values) != len(self.X):
                raise DatasetError(f"{self.name}: {what} has {len(values)} entries for {len(self.X)} rows")
        if self.X.shape[1] != len(self.feature_names):
            raise DatasetError(f"{self.name}: {len(self.feature_names)} feature names for {self.X.shape[1]} columns")
        for role in (self.ood_class, self.minority_class):
            if role not in self.classes:
                raise DatasetError(f"{self.name}: {role!r} is not one of its classes")

    @property
    def classes(self) -> tuple[int | str, ...]:
        """Every class as it is written in `y`, in the order of `class_names`."""
        return tuple(range(len(self.class_names))) if self.y.dtype.kind == "i" else self.class_names

    def class_counts(self) -> dict[str, int]:
        """Rows of each class, by class name."""
        pairs = zip(self.class_names, self.classes, strict=True)
        return {name: int(np.count_nonzero(self.y == value)) for name, value in pairs}

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        return f"Dataset({self.name!r}: {rows} rows x {columns} features, {len(self.class_names)} classes)"


# How a data set can be loaded: the name of each source, the default one first, and its loader.
Sources = Mapping[str, Callable[[DataFolder], Dataset]]
