"""A column of a table file as class labels."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from gditd.tables import TableError
from gditd.tables.columns import as_text, flat, is_text

_ENDLESS = 2**63  # whole numbers from here on are held by none of Arrow's signed types


def counted_row(row: int) -> str:
    """Where a row is, for people, who count from 1."""
    return f"row {row + 1}"


def as_class_labels(
    column: pa.ChunkedArray | pa.Array, name: str | None = None, at: Callable[[int], str] = counted_row
) -> pa.Array:
    """Labels that name classes: texts, and numbers; truth values and times as text, in the table's spelling.

    What names no class is refused by the column's `name`, where the row is by `at`, and the cure.
    """
    labels = flat(column)
    _refuse_missing(labels, name, at)
    kind = labels.type
    if is_text(kind) or pa.types.is_integer(kind):
        return labels
    if pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
        return as_text(labels)
    if pa.types.is_decimal(kind):
        return _whole_numbers(labels, name, at)
    if pa.types.is_floating(kind):
        _whole_numbers(labels, name, at)
    elif len(labels):
        raise TableError(
            f"{_column(name)} holds values of type {kind}, which name no class: make them text or whole numbers"
        )
    return labels


def _refuse_missing(labels: pa.Array, name: str | None, at: Callable[[int], str]) -> None:
    known = as_text(labels) if is_text(labels.type) else labels  # an empty text is no label either
    missing = pc.is_null(known, nan_is_null=True)
    if pc.any(missing).as_py():
        where = "" if name is None else f' in column "{name}"'
        raise TableError(
            f"{at(pc.index(missing, True).as_py())} has no label{where}: give every training row its class, or leave "
            "such rows out"
        )


def _whole_numbers(labels: pa.Array, name: str | None, at: Callable[[int], str]) -> pa.Array:
    """Fractions and decimals that are whole, as integers."""
    try:
        return labels.cast(pa.int64())
    except pa.ArrowInvalid:
        values = labels.to_pylist()
    row = next(row for row, value in enumerate(values) if abs(value) >= _ENDLESS or value % 1)
    raise TableError(
        f"{at(row)}: {_column(name)} holds {values[row]}, but a number that names a class is whole and has at most 18 "
        "digits: take another column as target, or make its values text"
    )


def _column(name: str | None) -> str:
    return "the column of labels" if name is None else f'column "{name}"'
