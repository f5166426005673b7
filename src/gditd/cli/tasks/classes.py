"""Labels of a table as the classes of a model."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gditd.report.figures import UNSEEN
from gditd.tables import TableError
from gditd.tables.columns import as_any_numbers, as_booleans, as_text, flat, is_number, is_text


def label_texts(column: pa.ChunkedArray, name: str, rows_before: int) -> NDArray[Any]:
    """Every row's label as text; a row without one is refused by its number in the file."""
    texts = as_text(column)
    if texts.null_count:
        row = int(np.flatnonzero(texts.is_null().to_numpy(zero_copy_only=False))[0]) + 1 + rows_before
        raise TableError(f'column "{name}", row {row}: no label: give every row its class, or leave such rows out')
    labels: NDArray[Any] = texts.to_numpy(zero_copy_only=False)
    return labels


def class_codes(column: pa.ChunkedArray, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Every row's class number, `UNSEEN` for a label that training did not have.

    A file may spell a class 1 as 1.0 or "1": labels are compared in the kind that the classes have.
    """
    if classes.dtype.kind == "b":
        return _look_up(as_booleans(column, "")[0].tolist(), classes.astype(float))
    if classes.dtype.kind in "iu":
        return _look_up(_exact_numbers(column), classes)
    if classes.dtype.kind == "f":
        return _look_up(as_any_numbers(column, "")[0].tolist(), classes)
    return _look_up(as_text(column).to_pylist(), classes.astype(str))


def _look_up(labels: list[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    number = {known: code for code, known in enumerate(classes.tolist())}
    return np.array([number.get(label, UNSEEN) for label in labels], dtype=np.int64)


def _exact_numbers(column: pa.ChunkedArray) -> list[Any]:
    """Numbers that compare with whole ones to the last digit, which floats do not keep; None for all else."""
    array = flat(column)
    if is_text(array.type):
        coded = as_text(array).dictionary_encode()
        numbers = [_exact_number(text) for text in coded.dictionary.to_pylist()]
        return [None if place is None else numbers[place] for place in coded.indices.to_pylist()]
    return array.to_pylist() if is_number(array.type) or pa.types.is_boolean(array.type) else [None] * len(array)


def _exact_number(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() and "_" not in text else None
