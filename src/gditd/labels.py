"""Class labels as people have them to class numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d


def encode_labels(y: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted classes and each row's class number; a row without a label is refused by its number."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    if isinstance(y, pa.Array | pa.ChunkedArray) or hasattr(y, "to_pandas"):
        y = y.to_pandas()
    labels: NDArray[Any] = column_or_1d(np.asarray(y), warn=True)
    if labels.dtype.kind in "OUfMm":
        refuse_missing(labels)
    if labels.dtype.kind == "O":
        labels = pd.Series(labels).infer_objects().to_numpy()  # numbers held as objects
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels})
        raise ValueError(f"labels of different types ({', '.join(kinds)}): make them all text or all numbers") from None
    refuse_other_labels(labels)
    return classes, codes.astype(np.int64)


def refuse_other_labels(labels: NDArray[Any]) -> None:
    """Refuse labels that name no class: fractions, dates, bytes and other objects."""
    kind = type(labels[0]).__name__ if len(labels) else "nothing"
    try:
        check_classification_targets(labels)
    except TypeError:
        raise ValueError(f"labels of type {kind} name no class: make them text or whole numbers") from None
    except ValueError as error:
        if "Unknown label type: unknown" in str(error):
            raise ValueError(
                f"Unknown label type: {kind}; make the labels text, or whole numbers of up to 18 digits"
            ) from None
        raise


def refuse_missing(labels: NDArray[Any]) -> None:
    """Name the first row without a label."""
    missing = np.flatnonzero(pd.isna(labels))
    if len(missing):
        raise ValueError(
            f"row {missing[0] + 1} has no label (and {len(missing) - 1} more): Input y contains NaN; give every "
            "training row its class, or leave such rows out"
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0]) + 1
        raise ValueError(f"the label of row {row} is infinite: Input y contains infinity")
