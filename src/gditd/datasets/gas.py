"""UCI Gas Sensor Array Drift: 16 chemical sensors, six gases, ten batches over three years."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gditd.datasets.base import DataFolder, Dataset, DatasetError, Sources
from gditd.datasets.labels import ClassCounts, classes_from_labels, count_classes, verify_counts
from gditd.datasets.openml import fetch_table, shift_labels
from gditd.datasets.publication import Publication, RawFile
from gditd.datasets.text import Lines, check_fields, parse_numbers, split_lines

N_FEATURES = 128
CLASS_NAMES = ("Ethanol", "Ethylene", "Ammonia", "Acetaldehyde", "Acetone", "Toluene")
CLASS_COUNTS = (2565, 2926, 1641, 1936, 3009, 1833)
BATCH_ROWS = (445, 1244, 1586, 161, 197, 2300, 3613, 294, 470, 3600)

_STATISTICS = ("DR", "|DR|", "EMAi0.001", "EMAi0.01", "EMAi0.1", "EMAd0.001", "EMAd0.01", "EMAd0.1")
FEATURE_NAMES = tuple(f"{statistic}_{sensor}" for sensor in range(1, 17) for statistic in _STATISTICS)

BATCH_FILES = tuple(f"batch{number}.dat" for number in range(1, 11))

PUBLICATION = Publication(
    name="gas",
    where='UCI Machine Learning Repository, "Gas Sensor Array Drift" (dataset 224), the zip file',
    files=BATCH_FILES,
    archives=("gas-sensor-array-drift.zip", "gas?sensor?array?drift*.zip", "Dataset.zip"),
    subfolders=("Dataset", "gas-sensor-array-drift", "gas-sensor-array-drift/Dataset"),
)

SOURCE = (
    "Vergara et al., Chemical gas sensor drift compensation using classifier ensembles, Sensors and "
    "Actuators B 166-167 (2012). UCI Machine Learning Repository, CC BY 4.0."
)


class _Batch(NamedTuple):
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    concentration: NDArray[np.float64]


def from_files(
    data: DataFolder = None,
    *,
    class_counts: ClassCounts = CLASS_COUNTS,
    batch_rows: tuple[int, ...] = BATCH_ROWS,
) -> Dataset:
    """Read the ten batches; class 0 is the publisher's label 1, `groups` the batch 1..10.

    `extra["concentration"]` is in ppm, NaN where a batch does not carry it.
    """
    files = PUBLICATION.read(data)
    batches = [_read_batch(files[name]) for name in BATCH_FILES]
    for name, batch, expected in zip(BATCH_FILES, batches, batch_rows, strict=True):
        if len(batch.y) != expected:
            raise DatasetError(
                f"{files[name].label}: {len(batch.y)} rows where {expected} are expected; "
                "the file is truncated, altered or another data set"
            )
    y = np.concatenate([batch.y for batch in batches])
    verify_counts("gas", count_classes(y, len(CLASS_NAMES)), class_counts)
    return _dataset(
        np.concatenate([batch.X for batch in batches]),
        y,
        groups=np.repeat(np.arange(1, len(batches) + 1), batch_rows),
        concentration=np.concatenate([batch.concentration for batch in batches]),
    )


def from_openml(cache: DataFolder = None, *, class_counts: ClassCounts = CLASS_COUNTS) -> Dataset:
    """Download "gas-drift"; that copy has neither batches nor concentrations."""
    table = fetch_table("gas-drift", version=1, n_features=N_FEATURES, cache=cache)
    y = shift_labels(table, first=1, n_classes=len(CLASS_NAMES))
    verify_counts(table.label, count_classes(y, len(CLASS_NAMES)), class_counts)
    return _dataset(table.X, y)


SOURCES: Sources = {"files": from_files, "openml": from_openml}


def _dataset(
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    groups: NDArray[np.int64] | None = None,
    concentration: NDArray[np.float64] | None = None,
) -> Dataset:
    return Dataset(
        name="gas",
        X=X,
        y=y,
        class_names=CLASS_NAMES,
        feature_names=FEATURE_NAMES,
        ood_class=0,
        minority_class=2,
        source=SOURCE,
        groups=groups,
        extra={} if concentration is None else {"concentration": concentration},
    )


def _read_batch(file: RawFile) -> _Batch:
    """Parse lines `label;ppm 1:v 2:v ...` or `label 1:v 2:v ...`."""
    lines = split_lines(file)
    parts = [text.partition(b" ") for text in lines.texts]
    labels, concentration = _read_heads(lines, [head for head, _, _ in parts])
    pairs = [rest for _, _, rest in parts]
    check_fields(lines, [rest.count(b":") for rest in pairs], N_FEATURES)
    # With the colons gone a row is 1 v 2 v ..., so one pass of the C parser reads keys and values.
    numbers = parse_numbers(
        Lines(lines.label, lines.numbers, [rest.replace(b":", b" ") for rest in pairs]), 2 * N_FEATURES
    )
    _check_keys(lines, numbers[:, 0::2])
    y = classes_from_labels(lines, labels, len(CLASS_NAMES))
    return _Batch(np.ascontiguousarray(numbers[:, 1::2]), y, concentration)


def _read_heads(lines: Lines, heads: list[bytes]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    labels = np.empty(len(heads))
    concentration = np.full(len(heads), np.nan)
    for row, head in enumerate(heads):
        label, semicolon, ppm = head.partition(b";")
        try:
            labels[row] = int(label)
            if semicolon:
                concentration[row] = float(ppm)
        except (ValueError, OverflowError) as error:
            raise lines.error(row, "the line does not start with `label` or `label;ppm`") from error
    return labels, concentration


def _check_keys(lines: Lines, keys: NDArray[np.float64]) -> None:
    wrong = np.flatnonzero((keys != np.arange(1, N_FEATURES + 1)).any(axis=1))
    if wrong.size:
        raise lines.error(int(wrong[0]), f"the features are not numbered 1: to {N_FEATURES}:")
