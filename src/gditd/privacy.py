"""What a model file holds of the table it was trained on, from whole rows down to weights.

The list is made from what is really in the model. Whatever it does not know is listed as such, instead of being left
out: a part that was added and not described here must not look harmless.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

if TYPE_CHECKING:
    from gditd.classifier import GDITDClassifier

Kind = Literal["rows", "values", "traces", "figures", "weights", "unknown"]

KINDS: Final[dict[Kind, str]] = {
    "rows": "training rows, as they were",
    "values": "single values that training rows had, as they were",
    "traces": "numbers computed from one row or from a few, from which values may be narrowed down",
    "figures": "counts, means, spreads and relations of many rows",
    "weights": "what training left in the networks",
    "unknown": "not described: take it for the worst",
}

RARE: Final = 5  # rows; what fewer have in common may point to somebody


@dataclass(frozen=True)
class Holding:
    """One thing that a model holds: of which kind, what it is, how many of it, and what to know about it."""

    kind: Kind
    what: str
    count: int
    note: str = ""


# Tensors by name. `count` of a holding is that of the numbers in all tensors of an entry.
TENSORS: Final[tuple[tuple[str, Kind, str, str], ...]] = (
    (r"explainer\.examples\.rows", "rows", "example rows", "left out with --no-examples (keep_examples=False)"),
    (r"explainer\.examples\.codes", "rows", "example rows", ""),
    (
        r"explainer\.quantiles",
        "values",
        "5 %, 50 % and 95 % points of numbers and dates, by class",
        f"each is the value of a row; of a class of fewer than {RARE} rows, those of all rows together",
    ),
    (r"encoder\.(lowest|highest|starts|slopes)", "values", "edges of the bins of numbers", "each is a row's value"),
    (
        r"(encoder|lens)\.scores",
        "traces",
        "ranks along the columns, at fixed places",
        "where rows are few, the steps show about where each of them lies",
    ),
    (
        r"(encoder|lens)\.centre",
        "values",
        "centres of numbers",
        "means or, where ranks or bins are used, as networks do by default, values of rows",
    ),
    (r"(encoder|lens)\.scale", "figures", "spreads of numbers", ""),
    (r"encoder\.(columns|floors|ceilings)", "figures", "layout of the bins", ""),
    (r"calibrator\.scores", "traces", "scores of the rows that calibrate", "one number a row: how strange it was"),
    (r"calibrator\.(fold_counts|groups)|folds|temperature", "figures", "calibration counts and settings", ""),
    (r"class_counts", "figures", "rows of each class", ""),
    (r"explainer\.(means|variances|precision)", "figures", "means, spreads and relations of columns, by class", ""),
    (r"explainer\.missing", "figures", "shares of missing values, by class", ""),
    (
        r"fusion\.(view|complete)\..*\.prototypes",
        "traces",
        "prototypes: means of rows in the columns' and the networks' spaces",
        "of three rows and more each, but of a class of fewer rows, of those",
    ),
    (
        r"fusion\.(view|complete)\..*\.centers",
        "traces",
        "class means in the columns' and the networks' spaces",
        "the mean of a class of one row is that row: see classes of few rows",
    ),
    (
        r"fusion\.(view|complete)\..*\.ranges\.(low|high)",
        "values",
        "ranges of known rows at the nodes of trees",
        "each end is a row's value in one column; at least eight rows lie between",
    ),
    (r"fusion\.(view|complete)\..*\.ranges\.(known|counts)", "figures", "known rows at the nodes of trees", ""),
    (
        r"fusion\.(view|complete)\..*\.(whitening|axes|origin)",
        "figures",
        "relations in the columns' and the networks' spaces",
        "",
    ),
    (
        r"fusion\.(view|complete)\.fern-.*\.(n_features|features|thresholds|counts|starts|values)",
        "traces",
        "ferns: cuts and how many rows of each class lie between them",
        "cuts are drawn at random between values of rows, and a cell may be of one row",
    ),
    (
        r"fusion\.(view|complete|namer)\..*(threshold|shares|left|right|feature|node_counts|n_features)",
        "traces",
        "trees: cuts and the classes in their leaves",
        "cuts are drawn at random between values of rows, and a leaf may be of one row",
    ),
    (r"fusion\.(view|complete)\..*\.classes", "figures", "class numbers", ""),
    (r"fusion\.(knots|steps|weights|pool|naming_pool)", "figures", "scales and weights of the views", ""),
    (
        r"(network|head)\..*",
        "weights",
        "weights of the networks",
        "whether a row was in the training table may be guessed from how well it fits",
    ),
)

DESCRIBED: Final = {"backbone", "encoder", "explainer", "calibrator", "views", "forecast"}


def holdings(model: GDITDClassifier) -> list[Holding]:
    """List what a fitted model would write to its file, the most telling first."""
    found = [*names(model), *of_columns(model), *of_tensors(model), *of_document(model)]
    order = list(KINDS)
    return sorted(found, key=lambda holding: order.index(holding.kind))


def names(model: GDITDClassifier) -> Iterator[Holding]:
    """Names: classes and columns."""
    few = int((model.class_counts_ < RARE).sum())
    note = f"{few} of them with fewer than {RARE} rows, whose means and scores are nearly those rows" if few else ""
    yield Holding("values", "class labels", len(model.classes_), note)
    left_out = f"also of those left out: {', '.join(model.ignore)}" if model.ignore else ""
    if hasattr(model, "feature_names_in_"):
        yield Holding("figures", "column names", len(model.feature_names_in_), left_out)


def of_columns(model: GDITDClassifier) -> Iterator[Holding]:
    """What the schema says of the columns."""
    columns = model.model_.encoder.schema_.columns
    ranges = [column for column in columns if column.minimum is not None and column.kind != "boolean"]
    if ranges:
        yield Holding(
            "values",
            "smallest and largest number or date of a column",
            2 * len(ranges),
            f"of {listed([column.name for column in ranges])}",
        )
        yield Holding("figures", "means, spreads and shares of missing values", 3 * len(ranges))
    texts = [column for column in columns if column.categories]
    if texts:
        rare = sum(rows < RARE for column in texts for _, rows in column.categories)
        note = f"of {listed([column.name for column in texts])}; {rare} of them in fewer than {RARE} rows"
        yield Holding("values", "categories and their counts", sum(len(column.categories) for column in texts), note)
    constants = [column for column in columns if column.value is not None]
    if constants:
        note = f"of {listed([column.name for column in constants])}"
        yield Holding("values", "the one value of columns that have no other", len(constants), note)


def of_tensors(model: GDITDClassifier) -> Iterator[Holding]:
    """What the tensors are."""
    counts: dict[tuple[Kind, str], int] = {}
    notes: dict[tuple[Kind, str], str] = {}
    for name, value in model._tensors().items():
        kind, what, note = described(name)
        if name == "explainer.examples.rows":  # text: what counts is rows, and their classes are as many
            continue
        counts[kind, what] = counts.get((kind, what), 0) + int(np.prod(value.shape))
        notes[kind, what] = notes.get((kind, what)) or note
    if ("rows", "example rows") in notes:
        notes["rows", "example rows"] = described("explainer.examples.rows")[2]
    for (kind, what), count in counts.items():
        yield Holding(kind, what, count, notes[kind, what])


def described(tensor: str) -> tuple[Kind, str, str]:
    """Kind, name and note of a tensor."""
    for pattern, kind, what, note in TENSORS:
        if re.fullmatch(pattern, tensor):
            return kind, what, note
    return "unknown", f"tensor {tensor}", ""


def of_document(model: GDITDClassifier) -> Iterator[Holding]:
    """What the JSON part holds besides columns."""
    document = model._document()
    if "forecast" in document:
        yield Holding("figures", "how well classes were caught while left out", len(document["forecast"]["left_out"]))
    for name in document:
        if name not in DESCRIBED:
            yield Holding("unknown", f"document {name}", 1)


def listed(columns: list[str], most: int = 5) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(columns) - most} more" if len(columns) > most else ""
    return ", ".join(columns[:most]) + more


def privacy_document(model: GDITDClassifier) -> dict[str, Any]:
    """The list in plain values, for JSON."""
    found = holdings(model)
    return {
        "training_rows": int(model.class_counts_.sum()),
        "holds_rows": any(holding.kind in ("rows", "unknown") for holding in found),
        "holdings": [asdict(holding) for holding in found],
    }
