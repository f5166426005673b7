"""What a release gives away and what it is good for, in figures.

Distances are Euclidean between encoded rows: z-scored numbers, one-hot categories. Figures are taken on samples.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors

from gditd.metrics import accuracy, balanced_accuracy
from gditd.synthesis.columns import LEAST_ROWS
from gditd.synthesis.mixing import Floats, Rows
from gditd.synthesis.release import release_rows
from gditd.tables import TableEncoder, TableError
from gditd.tables.columns import as_text

DISTANCE_ROWS = 2_000  # rows whose nearest real row is looked for, among all real rows
UTILITY_ROWS = 5_000


@dataclass(frozen=True)
class Distances:
    """From rows to their nearest real row."""

    percentile_1: float
    percentile_5: float
    median: float


@dataclass(frozen=True)
class Privacy:
    """How near released rows are to real ones.

    exact_copies : released rows that equal a real row in every column.
    released_to_real : from released rows to their nearest real row.
    real_to_real : from real rows to their nearest other real row, for comparison.
    closer_share : of released rows, how many lie at most as near to a real row as the closest 5 % of real rows do.
    """

    exact_copies: int
    released_to_real: Distances
    real_to_real: Distances
    closer_share: float


@dataclass(frozen=True)
class Utility:
    """A forest trained on real rows and one on mixtures of the same rows, both tested on other real rows."""

    train_rows: int
    test_rows: int
    accuracy_real: float
    accuracy_synthetic: float
    balanced_accuracy_real: float
    balanced_accuracy_synthetic: float


@dataclass(frozen=True)
class SynthesisReport:
    """Privacy, and utility where a sample of the rows allows to measure it."""

    privacy: Privacy
    utility: Utility | None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return dataclasses.asdict(self)


def measure_privacy(real: pa.Table, released: pa.Table, target: str, rng: np.random.Generator) -> Privacy:
    """Compare any released table with the real one."""
    exact_copies = int(np.isin(_contents(released), _contents(real)).sum())
    # A column of which nothing was released hides no row, it would only add to every distance.
    empty = [name for name in real.column_names if released.column(name).null_count == released.num_rows]
    real, released = real.drop_columns(empty), released.drop_columns(empty)
    encoder = TableEncoder().fit(real.drop_columns([target]))
    near = NearestNeighbors(n_neighbors=2, algorithm="brute").fit(_places(encoder, real, target))
    others = near.kneighbors(_places(encoder, _sample(real, rng), target))[0][:, 1]  # the nearest is the row itself
    released_near = near.kneighbors(_places(encoder, _sample(released, rng), target), n_neighbors=1)[0][:, 0]
    return Privacy(
        exact_copies=exact_copies,
        released_to_real=_distances(released_near),
        real_to_real=_distances(others),
        closer_share=float(np.mean(released_near <= np.percentile(others, 5))),
    )


def measure_utility(table: pa.Table, target: str, rng: np.random.Generator, *, neighbours: int) -> Utility | None:
    """Split real rows in two, release mixtures of one half, and test on the other, which took no part in them.

    None where two classes do not have rows enough, or the rows of a sample cannot be mixed or told apart.
    """
    try:
        return _utility(table, target, rng, neighbours)
    except TableError:
        return None


def _utility(table: pa.Table, target: str, rng: np.random.Generator, neighbours: int) -> Utility | None:
    labels = as_text(table.column(target)).to_numpy(zero_copy_only=False)
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    usable = np.flatnonzero(counts[codes] >= 2 * LEAST_ROWS)
    if len(np.unique(codes[usable])) < 2:
        return None
    usable = _at_most(usable, codes, rng)
    train, test = train_test_split(usable, test_size=0.5, stratify=codes[usable], random_state=int(rng.integers(2**31)))
    known = table.take(pa.array(train))
    released = release_rows(known, target, rng, neighbours=neighbours).table
    code_of = {label: code for code, label in enumerate(classes)}
    released_codes = np.array([code_of[label] for label in as_text(released.column(target)).to_pylist()])
    encoder = TableEncoder().fit(known.drop_columns([target]))
    unseen = _encoded(encoder, table.take(pa.array(test)), target)
    by_real = _forest(_encoded(encoder, known, target), codes[train]).predict(unseen)
    by_released = _forest(_encoded(encoder, released, target), released_codes).predict(unseen)
    return Utility(
        train_rows=len(train),
        test_rows=len(test),
        accuracy_real=accuracy(codes[test], by_real) or 0.0,
        accuracy_synthetic=accuracy(codes[test], by_released) or 0.0,
        balanced_accuracy_real=balanced_accuracy(codes[test], by_real) or 0.0,
        balanced_accuracy_synthetic=balanced_accuracy(codes[test], by_released) or 0.0,
    )


def _at_most(rows: Rows, codes: Rows, rng: np.random.Generator) -> Rows:
    """A sample in which every class keeps enough rows for both halves."""
    if len(rows) <= UTILITY_ROWS:
        return rows
    kept = []
    for code in np.unique(codes[rows]):
        own = rng.permutation(rows[codes[rows] == code])
        kept.append(own[: max(round(len(own) / len(rows) * UTILITY_ROWS), 2 * LEAST_ROWS)])
    return np.concatenate(kept)


def _forest(X: Floats, codes: Rows) -> Any:
    return ExtraTreesClassifier(200, random_state=0).fit(X, codes)


def _encoded(encoder: TableEncoder, table: pa.Table, target: str) -> Floats:
    values: Floats = encoder.transform(table.drop_columns([target])).values.numpy()
    return values


def _places(encoder: TableEncoder, table: pa.Table, target: str) -> Floats:
    """Encoded rows without what the encoder adds for values never seen: it makes rows look far that are not."""
    places = _encoded(encoder, table, target)
    places[:, encoder.evidence_features] = 0
    return places


def _sample(table: pa.Table, rng: np.random.Generator) -> pa.Table:
    if table.num_rows <= DISTANCE_ROWS:
        return table
    return table.take(pa.array(rng.choice(table.num_rows, DISTANCE_ROWS, replace=False)))


def _contents(table: pa.Table) -> Any:
    """A number for each row's content."""
    return pd.util.hash_pandas_object(table.to_pandas(), index=False).to_numpy()


def _distances(values: Floats) -> Distances:
    return Distances(*(float(value) for value in np.percentile(values, [1, 5, 50])))
