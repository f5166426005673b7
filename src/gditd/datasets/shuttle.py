"""UCI Statlog Shuttle: nine readings of the space shuttle's radiators, seven very unequal classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gditd.datasets.base import DataFolder, Dataset, Sources
from gditd.datasets.labels import ClassCounts, classes_from_labels, count_classes, verify_counts
from gditd.datasets.openml import fetch_table, shift_labels
from gditd.datasets.publication import Publication, RawFile
from gditd.datasets.text import parse_numbers, split_lines

N_FEATURES = 9
CLASS_NAMES = ("Rad Flow", "Fpv Close", "Fpv Open", "High", "Bypass", "Bpv Close", "Bpv Open")
TRAIN_COUNTS = (34108, 37, 132, 6748, 2458, 6, 11)
TEST_COUNTS = (11478, 13, 39, 2155, 809, 4, 2)

TRAIN_FILE, TEST_FILE = "shuttle.trn", "shuttle.tst"

PUBLICATION = Publication(
    name="shuttle",
    where=(
        'UCI Machine Learning Repository, "Statlog (Shuttle)" (dataset 148), files shuttle.trn.Z, to be '
        "unpacked with `uncompress` or 7-Zip, and shuttle.tst"
    ),
    files=(TRAIN_FILE, TEST_FILE),
    subfolders=("shuttle", "statlog+shuttle"),
)

SOURCE = "Statlog (Shuttle), NASA. UCI Machine Learning Repository, CC BY 4.0."


def from_files(
    data: DataFolder = None,
    *,
    train_counts: ClassCounts = TRAIN_COUNTS,
    test_counts: ClassCounts = TEST_COUNTS,
) -> Dataset:
    """Read the space-separated files, label last; class 0 is the publisher's label 1."""
    files = PUBLICATION.read(data)
    train_X, train_y = _read_part(files[TRAIN_FILE], train_counts)
    test_X, test_y = _read_part(files[TEST_FILE], test_counts)
    split = np.repeat(np.array(["train", "test"]), [len(train_y), len(test_y)])
    return _dataset(np.concatenate([train_X, test_X]), np.concatenate([train_y, test_y]), split)


def from_openml(
    cache: DataFolder = None,
    *,
    train_counts: ClassCounts = TRAIN_COUNTS,
    test_counts: ClassCounts = TEST_COUNTS,
) -> Dataset:
    """Download "shuttle"; that copy does not say which rows are the publisher's test rows."""
    table = fetch_table("shuttle", version=1, n_features=N_FEATURES, cache=cache)
    y = shift_labels(table, first=1, n_classes=len(CLASS_NAMES))
    counts = [train + test for train, test in zip(train_counts, test_counts, strict=True)]
    verify_counts(table.label, count_classes(y, len(CLASS_NAMES)), counts)
    return _dataset(table.X, y)


SOURCES: Sources = {"files": from_files, "openml": from_openml}


def _dataset(X: NDArray[np.float64], y: NDArray[np.int64], split: NDArray[np.str_] | None = None) -> Dataset:
    return Dataset(
        name="shuttle",
        X=X,
        y=y,
        class_names=CLASS_NAMES,
        feature_names=tuple(f"A{number}" for number in range(1, N_FEATURES + 1)),
        # Class 0 is normal flight, four rows in five: holding it out would leave only the exceptions to learn
        # from. "High" is the largest of the exceptions, so its figures are steady.
        ood_class=3,
        # The rarest class that leaves five folds a few rows each at a tenth of its 171; the classes of 10, 13
        # and 50 rows would not.
        minority_class=2,
        source=SOURCE,
        split=split,
    )


def _read_part(file: RawFile, counts: ClassCounts) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    lines = split_lines(file)
    numbers = parse_numbers(lines, N_FEATURES + 1)
    y = classes_from_labels(lines, numbers[:, -1], len(CLASS_NAMES))
    verify_counts(file.label, count_classes(y, len(CLASS_NAMES)), counts)
    return numbers[:, :-1], y
