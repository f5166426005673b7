"""What a model knows about its table, in plain values: for clients, forms and examples."""

from __future__ import annotations

from typing import Any

from gditd import GDITDClassifier
from gditd.serve.example import example_row, moment
from gditd.tables.schema import ColumnSchema

MOST_CATEGORIES = 200  # told about a column


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
        assert column.minimum is not None and column.maximum is not None
        return common | {"minimum": moment(column.minimum), "maximum": moment(column.maximum)}
    return common
