"""Class labels as people have them to class numbers."""

from __future__ import annotations

from decimal import Decimal
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
        labels = pd.Series(whole_decimals(labels)).infer_objects().to_numpy()  # numbers held as objects
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels})
        raise ValueError(f"labels of different types ({', '.join(kinds)}): make them all text or all numbers") from None
    refuse_other_labels(labels)
    return classes, codes.astype(np.int64)


def whole_decimals(labels: NDArray[Any]) -> NDArray[Any]:
    """Decimals, as databases have them, as integers where all of them are whole; anything else as it is."""
    if all(isinstance(label, Decimal) and label.is_finite() and label == int(label) for label in labels):
        return np.array([int(label) for label in labels], dtype=object)
    return labels


def refuse_other_labels(labels: NDArray[Any]) -> None:
    """Refuse labels that name no class: fractions, dates, bytes and other objects."""
    kind = type(labels[0]).__name__ if len(labels) else "nothing"
    try:
        check_classification_targets(labels)
    except TypeError:
        raise ValueError(f"labels of type {kind} name no class: make them text or whole numbers") from None
    except ValueError as error:
        if "Unknown label type: continuous" in str(error):
            row = int(np.flatnonzero((labels != np.floor(labels)) | (np.abs(labels) >= 2.0**63))[0])
            raise ValueError(
                f"Unknown label type: continuous; row {row + 1} has the label {labels[row]}, but a number that names a "
                "class is whole and has at most 18 digits: pass classes, or make the labels text"
            ) from None
        if "Unknown label type: unknown" in str(error):
            raise ValueError(
                f"Unknown label type: {kind}; make the labels text, or whole numbers of up to 18 digits"
            ) from None
        raise


def refuse_missing(labels: NDArray[Any]) -> None:
    """Name the first row without a label."""
    missing = np.flatnonzero(pd.isna(labels))
    if len(missing):
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise ValueError(
            f"row {missing[0] + 1} has no label{more}: Input y contains NaN; give every training row its class, or "
            "leave such rows out"
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0]) + 1
        raise ValueError(f"the label of row {row} is infinite: Input y contains infinity")
