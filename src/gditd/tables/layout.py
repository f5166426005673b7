"""Where every feature of an encoded row is, and what it is called."""

from dataclasses import dataclass

from .categories import CategoryCoder
from .numbers import NumberModule
from .schema import TableSchema


@dataclass(frozen=True)
class FeatureLayout:
    """The encoded row: the number-like columns' features, "unexpected missing", the categories' features.

    `expected` and `unexpected` part the number-like columns by whether training rows had missing values. `order`
    picks features up to the categories from the groups the module makes: numbers, missing, sines, cosines,
    unexpected missing.
    """

    names: list[str]
    slices: dict[str, slice]
    expected: list[int]
    unexpected: list[int]
    order: list[int]


def lay_out(
    schema: TableSchema, numbers: NumberModule, coders: dict[str, CategoryCoder], parts: dict[str, list[str]]
) -> FeatureLayout:
    """Give every column's features neighbouring places."""
    columns = [column for column in schema.used if column.kind != "category"]
    expected = [i for i, column in enumerate(columns) if column.share_missing > 0]
    unexpected = [i for i, column in enumerate(columns) if column.share_missing == 0]

    grouped: list[tuple[str, str]] = []  # each feature's column and name, as the module makes them
    for column, count in zip(columns, numbers.feature_counts, strict=True):
        bins = [f"{column.name}: bin {step + 1}" for step in range(count)]
        grouped += [(column.name, label) for label in (bins if count > 1 else [column.name])]
    grouped += [(columns[i].name, f"{columns[i].name}: missing") for i in expected]
    for wave in ("sine", "cosine"):
        grouped += [(name, f"{name}: {wave} of {part}") for name in parts for part in parts[name]]

    members: dict[str, list[int]] = {column.name: [] for column in columns}
    for place, (name, _) in enumerate(grouped):
        members[name].append(place)
    order = [place for places in members.values() for place in places]
    names = [grouped[place][1] for place in order]
    if unexpected:
        order.append(len(grouped))
        names.append("unexpected missing")

    slices: dict[str, slice] = {}
    start = 0
    for name, places in members.items():
        slices[name] = slice(start, start := start + len(places))
    start = len(names)
    for name, coder in coders.items():
        names += [f"{name}: {label}" for label in coder.code_names]
        slices[name] = slice(start, start := len(names))
    return FeatureLayout(names, slices, expected, unexpected, order)
