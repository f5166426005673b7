"""Made-up rows of no class: half the columns of one known row, the other half of a row of another class.

Each column by itself looks familiar. What does not fit is how the columns go together, and that is what a class nobody
has labelled yet most often shows too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]


def mixed_rows(
    rows: Rows, codes: NDArray[np.int64], n_rows: int, *, owners: NDArray[np.int64], rng: np.random.Generator
) -> Rows:
    """Make `n_rows` rows out of rows (n, width) of classes 0 .. k - 1.

    `owners` (width,) names the column a feature comes from: a column is taken whole. The second row's class is drawn
    first, each with the same chance, so that rare classes take part. With one class both rows are of that class.
    """
    first = rng.integers(len(rows), size=n_rows)
    second = rows_of_other_classes(codes, codes[first], rng)
    columns, owner = np.unique(owners, return_inverse=True)
    from_second = rng.random((n_rows, len(columns))) < 0.5
    return np.where(from_second[:, owner], rows[second], rows[first])


def rows_of_other_classes(
    codes: NDArray[np.int64], than: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """For each class in `than` a row of another one."""
    classes, counts = np.unique(codes, return_counts=True)
    k = len(classes)
    position = np.searchsorted(classes, than)
    other = position if k == 1 else (position + 1 + rng.integers(k - 1, size=len(than))) % k
    by_class = np.argsort(codes, kind="stable")
    start = np.cumsum(counts) - counts
    picked: NDArray[np.int64] = by_class[start[other] + rng.integers(counts[other])]
    return picked
