"""OpenML as a second source, through scikit-learn; used only when a caller asks for it."""

from __future__ import annotations

from http.client import HTTPException
from typing import NamedTuple

import numpy as np
import sklearn.datasets
from numpy.typing import NDArray

from gditd.datasets.base import DataFolder, DatasetError


class OpenMLTable(NamedTuple):
    """The numbers of a downloaded table: X (n, d), labels (n,)."""

    label: str
    X: NDArray[np.float64]
    labels: NDArray[np.int64]


def fetch_table(name: str, version: int, n_features: int, cache: DataFolder = None) -> OpenMLTable:
    """Download a numeric table; scikit-learn keeps it in `cache`, or in its own folder."""
    label = f'OpenML "{name}" version {version}'
    try:
        bunch = sklearn.datasets.fetch_openml(name, version=version, data_home=cache, as_frame=False)
        X = np.asarray(bunch.data, dtype=np.float64)
        labels = np.asarray(bunch.target).astype(np.int64)
    # Errors of the network are OSErrors; those of OpenML's answer and of its contents are ValueErrors.
    except (OSError, HTTPException, ValueError) as error:
        raise DatasetError(
            f"{label}: the download failed ({error}). Try again with a network connection, or download the "
            'publisher\'s files and use source="files"'
        ) from error
    if X.ndim != 2 or X.shape[1] != n_features or len(X) != len(labels):
        raise DatasetError(f"{label}: a table of shape {X.shape} where {n_features} columns are expected")
    return OpenMLTable(label, X, labels)


def shift_labels(table: OpenMLTable, first: int, n_classes: int) -> NDArray[np.int64]:
    """Map labels first..first+n_classes-1 to classes 0..n_classes-1."""
    y = table.labels - first
    if y.size and (y.min() < 0 or y.max() >= n_classes):
        raise DatasetError(f"{table.label}: labels other than {first} to {first + n_classes - 1}")
    return y
