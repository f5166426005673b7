"""Whether an encoder read from a file could have been fitted to a table.

A file may say anything. What the rest of this room takes for granted is checked here once, before memory is taken for
it; ValueError says what does not fit.
"""

import math
from collections.abc import Sequence
from typing import Any, get_args

import torch
from torch import Tensor

from .dates import PERIODS
from .numbers import SCORES_A_COLUMN, NumberModule, PiecewiseLinear, QuantileNormal
from .schema import MAX_KNOWN_CATEGORIES, ColumnSchema, Kind, TableSchema

_LAST_SECOND = 1e13  # beyond what a moment in microseconds can be


def refuse_unsound_schema(schema: TableSchema) -> None:
    """Check a schema's types and ranges."""
    _require(_is_whole(schema.n_rows) and schema.n_rows > 0, "the number of its training rows")
    names = [column.name for column in schema.columns]
    _require(all(isinstance(name, str) for name in names), "its column names")
    _require(len(set(names)) == len(names), "its column names, which are not all different,")
    for column in schema.columns:
        _require(_is_sound(column), f"what it says of column {column.name!r}")


def refuse_unsound_parts(parts: dict[str, list[str]], schema: TableSchema) -> None:
    """Check that dates, and only they, have parts, each at most once."""
    dates = [column.name for column in schema.used if column.kind == "datetime"]
    _require(list(parts) == dates, "the parts of its dates")
    for own in parts.values():
        _require(all(part in PERIODS for part in own) and len(set(own)) == len(own), "the parts of its dates")


def refuse_unsound_numbers(module: NumberModule, n_columns: int) -> None:
    """Check the tensors of a number module for so many columns."""
    _check(module.centre, (n_columns, 1), torch.float64)
    _check(module.scale, (n_columns, 1), torch.float64)
    _require(bool((module.scale > 0).all()), "the scale of its numbers")
    if isinstance(module, QuantileNormal):
        _check(module.scores, (n_columns * SCORES_A_COLUMN,), torch.float32)
    if isinstance(module, PiecewiseLinear):
        _check_bins(module, n_columns)


def _check_bins(module: PiecewiseLinear, n_columns: int) -> None:
    owners = module.columns
    _check(owners, (len(owners),), torch.int64)
    # In order and without a gap, so that none of them is out of range.
    steps = owners.diff(prepend=torch.tensor([-1]))
    in_order = bool(((steps == 0) | (steps == 1)).all())
    _require(in_order and (owners[-1].item() if len(owners) else -1) == n_columns - 1, "the bins of its numbers")
    for edge in (module.lowest, module.highest):
        _check(edge, (n_columns, 1), torch.float32)
    for ramp in (module.starts, module.slopes, module.floors, module.ceilings):
        _check(ramp, (len(owners), 1), torch.float32)


def _is_sound(column: ColumnSchema) -> bool:
    known_kind = isinstance(column.kind, str) and column.kind in get_args(Kind)
    return (
        known_kind
        and _is_number(column.share_missing)
        and 0 <= column.share_missing <= 1
        and isinstance(column.integer, bool)
        and (column.value is None or isinstance(column.value, str))
        and (_has_categories(column) if column.kind == "category" else not column.categories)
        and (column.kind in ("category", "constant") or _has_range(column))
    )


def _has_categories(column: ColumnSchema) -> bool:
    texts = [text for text, _ in column.categories]
    return (
        0 < len(texts) <= MAX_KNOWN_CATEGORIES
        and all(isinstance(text, str) for text in texts)
        and all(_is_whole(rows) and rows >= 0 for _, rows in column.categories)
        and len(set(texts)) == len(texts)
        and _is_whole(column.n_categories)
        and column.n_categories >= len(texts)
    )


def _has_range(column: ColumnSchema) -> bool:
    figures = (column.minimum, column.maximum, column.mean, column.std)
    if not all(_is_number(figure) for figure in figures):
        return False
    low, high = float(column.minimum or 0), float(column.maximum or 0)
    return low <= high and (column.kind != "datetime" or max(abs(low), abs(high)) < _LAST_SECOND)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def _check(tensor: Tensor, shape: Sequence[int], dtype: torch.dtype) -> None:
    _require(tuple(tensor.shape) == tuple(shape) and tensor.dtype == dtype, "the encoding of its numbers")
    _require(not tensor.is_floating_point() or bool(tensor.isfinite().all()), "the encoding of its numbers")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"{what} cannot be right")
