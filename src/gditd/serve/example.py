"""A row such as a model takes: for forms, for the description of the API, and to warm up with."""

from __future__ import annotations

from typing import Any

import numpy as np

from gditd import GDITDClassifier
from gditd.explain.profiles import shortened
from gditd.tables.schema import ColumnSchema

FEWEST_DIGITS = 4
MOST_DIGITS = 17  # with which any float64 is exact
SLACK = 0.01  # of a column's spread may be lost in rounding
DAY = 86_400


def example_row(model: GDITDClassifier) -> dict[str, Any]:
    """What is usual for the largest class: means over all classes may lie where there is no row at all.

    Columns that are not used are left out, unless the model knows its columns by their places alone.
    """
    schema = model.model_.encoder.schema_
    middle = model.model_.explainer.profiles.middle(schema, int(np.argmax(model.class_counts_)))
    row = {column.name: example_value(column, middle[column.name]) for column in schema.used}
    if hasattr(model, "feature_names_in_"):
        return row
    row |= {column.name: column.value for column in schema.columns if column.kind == "constant"}
    return {name: row.get(name) for name in (f"x{place}" for place in range(model.n_features_in_))}


def example_value(column: ColumnSchema, middle: float | str | None) -> Any:
    """A usual value as JSON has it, from the median or the most common category."""
    if middle is None:
        return None
    if isinstance(middle, str):
        return next((text for text, _ in column.categories if shortened(text) == middle), column.categories[0][0])
    if column.kind == "boolean":
        return middle >= 0.5
    if column.kind == "datetime":
        return time_of_day(middle) if has_times_alone(column) else moment(middle)
    return int(middle) if column.integer else rounded(middle, column)


def rounded(value: float, column: ColumnSchema) -> float:
    """The number in few digits, but no fewer than its column needs: 123,441.5 is not 123,400 where all are near it."""
    assert column.std is not None
    for digits in range(FEWEST_DIGITS, MOST_DIGITS):
        short = float(f"{value:.{digits}g}")
        if abs(short - value) <= SLACK * column.std:
            return short
    return value


def has_times_alone(column: ColumnSchema) -> bool:
    """Whether a column of moments has times without a day, which are taken as those of the first day of 1970."""
    assert column.minimum is not None and column.maximum is not None
    return 0 <= column.minimum <= column.maximum < DAY


def time_of_day(seconds: float) -> str:
    """Seconds since midnight as ISO text."""
    return str(np.datetime64(int(seconds), "s")).split("T")[1]


def moment(seconds: float) -> str:
    """Seconds since 1970 as ISO text, a date where it is midnight."""
    return str(np.datetime64(int(seconds), "s")).removesuffix("T00:00:00")
