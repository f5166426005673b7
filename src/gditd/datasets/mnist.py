"""MNIST: 28 x 28 grey images of handwritten digits, as a table of 784 columns."""

from __future__ import annotations

import math
import struct

import numpy as np
from numpy.typing import NDArray

from gditd.datasets.base import DataFolder, Dataset, DatasetError, Sources
from gditd.datasets.labels import ClassCounts, count_classes, verify_counts
from gditd.datasets.openml import fetch_table, shift_labels
from gditd.datasets.publication import Publication, RawFile

N_FEATURES = 28 * 28
N_CLASSES = 10
TRAIN_COUNTS = (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)
TEST_COUNTS = (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009)

TRAIN_FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")
TEST_FILES = ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")

PUBLICATION = Publication(
    name="mnist",
    where=(
        'Yann LeCun\'s page "The MNIST database of handwritten digits" or a mirror of it, the four IDX '
        "files, gzipped or not"
    ),
    files=TRAIN_FILES + TEST_FILES,
    subfolders=("mnist", "MNIST", "MNIST/raw"),
)

SOURCE = (
    "LeCun, Bottou, Bengio and Haffner, Gradient-based learning applied to document recognition, Proceedings "
    "of the IEEE 86 (1998). Usually redistributed under CC BY-SA 3.0."
)

_UNSIGNED_BYTE = 0x08


def from_files(
    data: DataFolder = None,
    *,
    train_counts: ClassCounts = TRAIN_COUNTS,
    test_counts: ClassCounts = TEST_COUNTS,
) -> Dataset:
    """Read the four IDX files, gzipped or not: training rows first, then test rows.

    Pixels are float32 from 0 to 255. The files hold bytes, but byte arithmetic overflows silently in
    distances and dot products.
    """
    files = PUBLICATION.read(data)
    train_images, train_y = _read_part(files, TRAIN_FILES, train_counts)
    test_images, test_y = _read_part(files, TEST_FILES, test_counts)
    X = np.empty((len(train_y) + len(test_y), N_FEATURES), dtype=np.float32)
    X[: len(train_y)] = train_images
    X[len(train_y) :] = test_images
    return _dataset(X, np.concatenate([train_y, test_y]), n_train=len(train_y))


def from_openml(
    cache: DataFolder = None,
    *,
    train_counts: ClassCounts = TRAIN_COUNTS,
    test_counts: ClassCounts = TEST_COUNTS,
) -> Dataset:
    """Download "mnist_784", which keeps the publisher's order: training rows first, then test rows."""
    table = fetch_table("mnist_784", version=1, n_features=N_FEATURES, cache=cache)
    y = shift_labels(table, first=0, n_classes=N_CLASSES)
    n_train = sum(train_counts)
    verify_counts(f"{table.label}, training rows", count_classes(y[:n_train], N_CLASSES), train_counts)
    verify_counts(f"{table.label}, test rows", count_classes(y[n_train:], N_CLASSES), test_counts)
    return _dataset(table.X.astype(np.float32), y, n_train)


SOURCES: Sources = {"files": from_files, "openml": from_openml}


def _dataset(X: NDArray[np.float32], y: NDArray[np.int64], n_train: int) -> Dataset:
    return Dataset(
        name="mnist",
        X=X,
        y=y,
        class_names=tuple(str(digit) for digit in range(N_CLASSES)),
        feature_names=tuple(f"pixel{number}" for number in range(1, N_FEATURES + 1)),
        ood_class=0,
        minority_class=1,
        source=SOURCE,
        split=np.repeat(np.array(["train", "test"]), [n_train, len(y) - n_train]),
    )


def _read_part(
    files: dict[str, RawFile], names: tuple[str, str], counts: ClassCounts
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    images_file, labels_file = (files[name] for name in names)
    images = _read_idx(images_file, n_dimensions=3)
    labels = _read_idx(labels_file, n_dimensions=1)
    if images.shape[1:] != (28, 28):
        raise DatasetError(f"{images_file.label}: images of {images.shape[1]} x {images.shape[2]}, not 28 x 28")
    if len(images) != len(labels):
        raise DatasetError(f"{labels_file.label}: {len(labels)} labels for {len(images)} images of {images_file.label}")
    if labels.size and labels.max() >= N_CLASSES:
        raise DatasetError(f"{labels_file.label}: label {labels.max()} is not one of 0 to {N_CLASSES - 1}")
    y = labels.astype(np.int64)
    verify_counts(labels_file.label, count_classes(y, N_CLASSES), counts)
    return images.reshape(len(images), N_FEATURES), y


def _read_idx(file: RawFile, n_dimensions: int) -> NDArray[np.uint8]:
    """Parse IDX: two zero bytes, the type, the number of dimensions, their big-endian sizes, the bytes."""
    magic = bytes([0, 0, _UNSIGNED_BYTE, n_dimensions])
    header = 4 + 4 * n_dimensions
    if file.content[:4] != magic:
        raise DatasetError(
            f"{file.label}: starts with {file.content[:4].hex() or 'nothing'} where the IDX mark "
            f"{magic.hex()} is expected; the file is another one, or still compressed"
        )
    if len(file.content) < header:
        raise DatasetError(f"{file.label}: the IDX header is truncated, download it again")
    shape = struct.unpack(f">{n_dimensions}I", file.content[4:header])
    expected = header + math.prod(shape)
    if len(file.content) != expected:
        raise DatasetError(
            f"{file.label}: {len(file.content)} bytes where its header promises {expected}, download it again"
        )
    return np.frombuffer(file.content, dtype=np.uint8, offset=header).reshape(shape)
