"""What a model knows about its table, in plain values: for clients, forms and examples."""

from __future__ import annotations

from typing import Any

import numpy as np

from gditd import GDITDClassifier
from gditd.tables.schema import ColumnSchema

MOST_CATEGORIES = 200  # told about a column
DIGITS = 4  # of an example's numbers


def described(name: str, model: GDITDClassifier) -> dict[str, Any]:
    """Classes with their promises, columns with kind, range and categories, and an example row."""
    summary = model.summary()
    return {
        "model": name,
        "preset": summary["preset"],
        "alpha": summary["alpha"],
        "rule": summary["rule"],
        "calibration": summary["calibration"],
        "proven": summary["proven"],
        "classes": [str(label) for label in model.classes_.tolist()],
        "promises": [own | {"class": str(own["class"])} for own in summary["classes"]],
        "columns": [described_column(column) for column in model.model_.encoder.schema_.columns],
        "ignored": summary["ignored"],
        "example": example_row(model),
    }


def described_column(column: ColumnSchema) -> dict[str, Any]:
    """One column; `missing_allowed` says that training rows had gaps there: elsewhere a gap is evidence of OOD."""
    common = {
        "name": column.name,
        "kind": column.kind,
        "required": column.kind != "constant",
        "missing_allowed": column.share_missing > 0,
        "share_missing": column.share_missing,
        "summary": column.summary(),
    }
    if column.kind == "category":
        texts = [text for text, _ in column.categories[:MOST_CATEGORIES]]
        return common | {"categories": texts, "n_categories": column.n_categories}
    if column.kind == "number":
        limits = {"minimum": column.minimum, "maximum": column.maximum, "mean": column.mean}
        return common | limits | {"integer": column.integer}
    if column.kind == "datetime":
        return common | {"minimum": moment(column.minimum), "maximum": moment(column.maximum)}
    return common


def example_row(model: GDITDClassifier) -> dict[str, Any]:
    """A row of usual values; columns that are not used are left out."""
    return {column.name: example_value(column) for column in model.model_.encoder.schema_.used}


def example_value(column: ColumnSchema) -> Any:
    """A usual value of a column."""
    if column.kind == "category":
        return column.categories[0][0]
    assert column.mean is not None
    if column.kind == "boolean":
        return column.mean >= 0.5
    if column.kind == "datetime":
        return moment(column.mean)
    return round(column.mean) if column.integer else float(f"{column.mean:.{DIGITS}g}")


def moment(seconds: float | None) -> str | None:
    """Seconds since 1970 as ISO text, a date where it is midnight."""
    if seconds is None:
        return None
    return str(np.datetime64(int(seconds), "s")).removesuffix("T00:00:00")
