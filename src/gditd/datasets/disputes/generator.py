"""`make_disputes`: simulate cases block by block and release mixtures of them, never a case itself."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gditd.datasets.base import DataFolder, Dataset, DatasetError, Sources
from gditd.datasets.disputes.behaviours import FIRST_PARTY, LEGITIMATE, THIRD_PARTY
from gditd.datasets.disputes.cases import simulate_cases
from gditd.datasets.disputes.columns import columns_of
from gditd.synthesis.mixing import mix_rows

N_ROWS, N_FEATURES = 143_670, 943  # the paper's table
LEAST_ROWS, LEAST_FEATURES = 50, 20  # a class needs cases to mix, a table the columns of the claim
SHARES = {FIRST_PARTY: 0.08, THIRD_PARTY: 0.46, LEGITIMATE: 0.46}
BLOCK = 1_024  # cases simulated and mixed together: a few MB of purchases

SOURCE = "Simulated by gditd after what the DNN-GDITD paper says of its synthetic financial data; holds no real case."


class Block(NamedTuple):
    """Cases of one class: where their rows go, and the seed they are drawn with."""

    label: str
    rows: NDArray[np.int64]
    seed: np.random.SeedSequence


def make_disputes(n_rows: int = N_ROWS, n_features: int = N_FEATURES, random_state: int = 0) -> Dataset:
    """Simulate disputed card purchases: first-party fraud, third-party fraud and legitimate disputes, 8 : 46 : 46.

    Classes show only in what people do: see docs/disputes.md. Every row is a mixture of three simulated cases of its
    class, as in a table released with `gditd synthesize`. The same arguments give the same bits.

    Parameters
    ----------
    n_rows : at least 50; the paper's size by default (half a minute), 5,000 are enough to try something.
    n_features : the first so many of `available_features()`, which come in an order of usefulness; at least 20.
    random_state : another seed gives other rows.

    Raises
    ------
    DatasetError
        If there are too few rows or features, or more features than the simulation counts.
    """
    names = available_features()
    if n_rows < LEAST_ROWS:
        raise DatasetError(f"disputes: n_rows={n_rows} is too few for three classes: ask for at least {LEAST_ROWS}")
    if not LEAST_FEATURES <= n_features <= len(names):
        raise DatasetError(
            f"disputes: n_features={n_features} is not possible: ask for {LEAST_FEATURES} to {len(names)}"
        )
    X = np.empty((n_rows, n_features), np.float32)
    y = np.empty(n_rows, f"<U{max(map(len, SHARES))}")
    for block in blocks(n_rows, random_state):
        rng = np.random.default_rng(block.seed)
        X[block.rows] = mix_rows(simulated(block.label, len(block.rows), n_features, rng), rng)
        y[block.rows] = block.label
    return Dataset(
        name="disputes",
        X=X,
        y=y,
        class_names=tuple(SHARES),
        feature_names=names[:n_features],
        ood_class=LEGITIMATE,
        minority_class=FIRST_PARTY,
        source=SOURCE,
    )


@cache
def available_features() -> tuple[str, ...]:
    """The names of all columns that are counted, most useful first."""
    return tuple(name for name, _ in columns_of(simulate_cases(LEGITIMATE, 2, np.random.default_rng(0))))


def blocks(n_rows: int, random_state: int) -> Iterator[Block]:
    """Deal the rows out to classes and these to blocks of about equal size, each with a seed of its own."""
    seed = np.random.SeedSequence(random_state)
    order = np.random.default_rng(seed.spawn(1)[0]).permutation(n_rows)
    counts = class_counts(n_rows)
    for label, rows in zip(counts, np.split(order, np.cumsum(list(counts.values()))[:-1]), strict=True):
        for part in np.array_split(rows, -(-len(rows) // BLOCK)):
            yield Block(label, part, seed.spawn(1)[0])


def class_counts(n_rows: int) -> dict[str, int]:
    """Rows of each class; what rounding leaves over or lacks goes to legitimate disputes."""
    counts = {label: round(share * n_rows) for label, share in SHARES.items()}
    counts[LEGITIMATE] = n_rows - counts[FIRST_PARTY] - counts[THIRD_PARTY]
    return counts


def simulated(label: str, n: int, n_features: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """The first columns of n simulated cases, before the release step."""
    X = np.empty((n, n_features), np.float32)
    for place, (_, values) in zip(range(n_features), columns_of(simulate_cases(label, n, rng)), strict=False):
        X[:, place] = values
    return X


def from_simulation(data: DataFolder = None) -> Dataset:
    """The table at the paper's size; it needs no files."""
    del data
    return make_disputes()


SOURCES: Sources = {"simulation": from_simulation}
