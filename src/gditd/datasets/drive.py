"""UCI Sensorless Drive Diagnosis: motor currents, eleven conditions of the drive."""

from __future__ import annotations

from collections.abc import Sequence

from gditd.datasets.base import DataFolder, Dataset, Sources
from gditd.datasets.labels import ClassCounts, classes_from_labels, count_classes, verify_counts
from gditd.datasets.publication import Publication
from gditd.datasets.text import parse_numbers, split_lines

N_FEATURES = 48
N_CLASSES = 11
# The published file, and a subset of it in the same format that is small enough for continuous integration.
EDITIONS = ((5319,) * N_CLASSES, (200,) * N_CLASSES)

FILE = "Sensorless_drive_diagnosis.txt"

PUBLICATION = Publication(
    name="drive",
    where=(f'UCI Machine Learning Repository, "Dataset for Sensorless Drive Diagnosis" (dataset 325), file {FILE}'),
    files=(FILE,),
    archives=("dataset+for+sensorless+drive+diagnosis.zip", "*sensorless?drive?diagnosis*.zip"),
)

SOURCE = "Bator, Dataset for Sensorless Drive Diagnosis (2013). UCI Machine Learning Repository, CC BY 4.0."


def from_files(data: DataFolder = None, *, editions: Sequence[ClassCounts] = EDITIONS) -> Dataset:
    """Read the space-separated file, label last; class 0 is the publisher's label 1."""
    file = PUBLICATION.read(data)[FILE]
    lines = split_lines(file)
    numbers = parse_numbers(lines, N_FEATURES + 1)
    y = classes_from_labels(lines, numbers[:, -1], N_CLASSES)
    verify_counts(file.label, count_classes(y, N_CLASSES), *editions)
    return Dataset(
        name="drive",
        X=numbers[:, :-1].copy(),
        y=y,
        class_names=tuple(f"label {label}" for label in range(1, N_CLASSES + 1)),
        feature_names=tuple(f"Attribute{number}" for number in range(1, N_FEATURES + 1)),
        ood_class=0,
        minority_class=1,
        source=SOURCE,
    )


SOURCES: Sources = {"files": from_files}
