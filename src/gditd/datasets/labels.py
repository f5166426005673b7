"""Turn publishers' labels into classes, and verify that every row of every class arrived."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gditd.datasets.base import DatasetError
from gditd.datasets.text import Lines

ClassCounts = Sequence[int]


def classes_from_labels(lines: Lines, labels: NDArray[np.float64], n_classes: int) -> NDArray[np.int64]:
    """Map labels 1..n_classes to classes 0..n_classes-1, the paper's numbering."""
    wrong = np.flatnonzero(~np.isin(labels, np.arange(1, n_classes + 1)))
    if wrong.size:
        row = int(wrong[0])
        raise lines.error(row, f"label {labels[row]:g} is not one of 1 to {n_classes}")
    return labels.astype(np.int64) - 1


def count_classes(y: NDArray[np.int64], n_classes: int) -> tuple[int, ...]:
    """Count the rows of each class 0..n_classes-1."""
    return tuple(np.bincount(y, minlength=n_classes).tolist())


def verify_counts(label: str, found: ClassCounts, *accepted: ClassCounts) -> None:
    """Raise unless the rows of each class are those of one of the accepted editions of a file."""
    if any(tuple(found) == tuple(counts) for counts in accepted):
        return
    expected = " or ".join(f"{sum(counts)} rows ({_spaced(counts)} by class)" for counts in accepted)
    raise DatasetError(
        f"{label}: {sum(found)} rows ({_spaced(found)} by class) where {expected} are expected; "
        "the file is truncated, altered or another data set"
    )


def _spaced(counts: ClassCounts) -> str:
    return " ".join(str(count) for count in counts)
