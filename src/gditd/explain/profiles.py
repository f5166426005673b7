"""What is usual for a class: quantiles of its numbers and dates, its most common categories, its missing values.

At least `FEWEST_ROWS` rows stand behind every figure. A class with fewer is described by all rows together, so that
a profile never is somebody's row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from gditd.tables import ColumnSchema, TableEncoder, TableSchema
from gditd.tables.columns import as_text

FEWEST_ROWS = 5
MOST_ROWS = 10_000  # of a class are looked at: quantiles do not get better to the eye
MOST_CATEGORIES = 3  # of a column are kept for each class
LONGEST_TEXT = 80
_LEVELS = (0.05, 0.5, 0.95)
_LAST_SECOND = 1e12  # far beyond any date; what is shown as a moment is cut here

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Common = list[tuple[str, float]]


def spread(rows: Rows, most: int) -> Rows:
    """At most `most` of the rows, evenly spread."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]


def rows_by_profile(codes: Rows, n_classes: int) -> list[Rows]:
    """The rows that describe each class, and last the rows that describe all of them together."""
    everything = spread(np.arange(len(codes)), MOST_ROWS)
    own = [np.flatnonzero(codes == c) for c in range(n_classes)]
    return [spread(rows, MOST_ROWS) if len(rows) >= FEWEST_ROWS else everything for rows in own] + [everything]


@dataclass(frozen=True, eq=False)
class ClassProfiles:
    """What is usual in each column, for each of `n` profiles: one a class, and one for all rows.

    quantiles (n, a, 3): 5 %, 50 % and 95 % of the a number-like columns, dates in seconds since 1970; of a boolean
    the share of true, three times. NaN where a class has no value. missing (n, columns): the share missing.
    categories: by column, each profile's most common texts with their share.
    """

    quantiles: Floats
    missing: Floats
    categories: dict[str, list[Common]]

    @classmethod
    def learn(cls, table: pa.Table, encoder: TableEncoder, rows: list[Rows]) -> ClassProfiles:
        """Describe the rows of each profile in a table that the encoder was fitted on."""
        schema = encoder.schema_
        parts = [table.take(pa.array(own)) for own in rows]
        numbers = [encoder.raw_tensors(part)[0].numpy() for part in parts]
        texts = {
            column.name: [as_text(part.column(column.name)) for part in parts]
            for column in schema.used
            if column.kind == "category"
        }
        place = {column.name: a for a, column in enumerate(numeric_columns(schema))}
        missing = [
            [
                texts[column.name][p].null_count / len(own)
                if column.kind == "category"
                else float(np.isnan(numbers[p][:, place[column.name]]).mean())
                for column in schema.used
            ]
            for p, own in enumerate(rows)
        ]
        quantiles = [
            [_quantiles(values[:, a], column) for a, column in enumerate(numeric_columns(schema))] for values in numbers
        ]
        shape = (len(rows), len(place), len(_LEVELS))
        categories = {name: [_common(text) for text in by_profile] for name, by_profile in texts.items()}
        return cls(np.array(quantiles, dtype=np.float64).reshape(shape), np.array(missing), categories)

    def usual(self, schema: TableSchema, profile: int, column: str, *, missing: bool) -> str:
        """What is usual in a column, in a few words; `missing` asks for the share of missing values as well."""
        names = [used.name for used in schema.used]
        share = float(self.missing[profile, names.index(column)])
        if share == 1:
            return "always missing"
        text = self._usual_value(schema, profile, schema[column])
        if share > 0.5:
            return f"mostly missing ({percent(share)}), else {text}"
        if not missing:
            return text
        return f"{text}, " + (f"missing in {percent(share)}" if share else "never missing")

    def middle(self, schema: TableSchema, profile: int) -> dict[str, float | str | None]:
        """By column: the median, of a boolean the share of true, the most common category; None where all is missing.

        Each by itself: together they are nobody's row.
        """
        medians = self.quantiles[profile, :, 1].tolist()
        found: dict[str, float | str | None] = {
            column.name: None if np.isnan(median) else median
            for column, median in zip(numeric_columns(schema), medians, strict=True)
        }
        return found | {name: next((text for text, _ in of[profile]), None) for name, of in self.categories.items()}

    def _usual_value(self, schema: TableSchema, profile: int, column: ColumnSchema) -> str:
        if column.kind == "category":
            return _categories_text(self.categories[column.name][profile])
        place = [numeric.name for numeric in numeric_columns(schema)].index(column.name)
        low, middle, high = self.quantiles[profile, place].tolist()
        if column.kind == "boolean":
            return f"{percent(middle)} true"
        texts = _moments([low, middle, high]) if column.kind == "datetime" else [number(v) for v in (low, middle, high)]
        if texts[0] == texts[2]:
            return f"mostly {texts[1]}"
        return f"{texts[0]} to {texts[2]} (median {texts[1]})"

    def state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Everything learned: plain values for JSON, and tensors."""
        categories = {
            name: [[list(pair) for pair in common] for common in by_profile]
            for name, by_profile in self.categories.items()
        }
        tensors = {"quantiles": torch.from_numpy(self.quantiles), "missing": torch.from_numpy(self.missing)}
        return {"categories": categories}, tensors

    @classmethod
    def from_state(
        cls, document: dict[str, Any], tensors: dict[str, Tensor], schema: TableSchema, n_classes: int
    ) -> ClassProfiles:
        """Build the profiles that `state` described; what does not fit the schema is refused."""
        quantiles, missing = tensors["quantiles"].double().numpy(), tensors["missing"].double().numpy()
        categories = {
            str(name): [[(str(text), float(share)) for text, share in common] for common in by_profile]
            for name, by_profile in document["categories"].items()
        }
        n = n_classes + 1
        fits = (
            quantiles.shape == (n, len(numeric_columns(schema)), len(_LEVELS))
            and missing.shape == (n, len(schema.used))
            and not np.isinf(quantiles).any()
            and bool((np.isnan(quantiles).any(axis=2) == np.isnan(quantiles).all(axis=2)).all())
            and bool(((missing >= 0) & (missing <= 1)).all())
            and set(categories) == {column.name for column in schema.used if column.kind == "category"}
            and all(len(by_profile) == n for by_profile in categories.values())
        )
        if not fits:
            raise ValueError("what is usual for its classes does not fit its columns")
        return cls(quantiles, missing, categories)


def numeric_columns(schema: TableSchema) -> list[ColumnSchema]:
    """The columns that are numbers at heart, in the order of the encoder's raw numbers."""
    return [column for column in schema.used if column.kind != "category"]


def percent(share: float) -> str:
    """A share in per cent, with a decimal only near the ends, where it tells."""
    return f"{100 * share:.0f} %" if 0.01 <= share <= 0.99 or share in (0, 1) else f"{100 * share:.1f} %"


def number(value: float) -> str:
    """A number in four digits, or whole if it is larger."""
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def _quantiles(values: Floats, column: ColumnSchema) -> list[float]:
    known = values[~np.isnan(values)]
    if len(known) == 0:
        return [float("nan")] * len(_LEVELS)
    if column.kind == "boolean":
        return [float(known.mean())] * len(_LEVELS)
    # Training values themselves: nothing between two of them can overflow, and whole numbers stay whole.
    return [float(q) for q in np.quantile(known, _LEVELS, method="nearest")]


def _common(text: pa.Array) -> Common:
    counted = pc.value_counts(text.drop_null())
    pairs = sorted(
        zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True),
        key=lambda pair: (-pair[1], pair[0]),
    )
    known = len(text) - text.null_count
    return [(shortened(value), rows / known) for value, rows in pairs[:MOST_CATEGORIES]]


def shortened(text: str) -> str:
    """A text that fits a line."""
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def _categories_text(common: Common) -> str:
    if not common:
        return "always missing"
    text, share = common[0]
    if share == 1:
        return f'always "{text}"'
    if share >= 0.5:
        return f'mostly "{text}" ({percent(share)})'
    return ", ".join(f'"{text}" ({percent(share)})' for text, share in common)


def _moments(seconds: list[float]) -> list[str]:
    """Moments as dates where they span days, as times where they all are of one day."""
    moments = [str(np.datetime64(int(np.clip(s, -_LAST_SECOND, _LAST_SECOND)), "s")) for s in seconds]
    if seconds[-1] - seconds[0] >= 2 * 86_400 or all(moment.endswith("T00:00:00") for moment in moments):
        return [moment.split("T")[0] for moment in moments]
    if all(moment.startswith("1970-01-01T") for moment in moments):  # a time of day alone
        return [moment.split("T")[1] for moment in moments]
    return [moment.replace("T", " ") for moment in moments]
