"""What a table's columns are: learned from the training rows, kept in the model, shown to people.

Kinds:
- "number": integers, floats, decimals, durations (in seconds); also text, if every value that is there reads
  as a number, because object columns and quoted CSV fields often hold numbers as text.
- "boolean": true/false; also text that says nothing but true and false.
- "datetime": dates, moments, times of day; also text, if every value is an ISO date or time.
- "category": any other text.
- "constant": one value in every row, or none at all. Nothing can be learned from it.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .columns import (
    Floats,
    Problem,
    as_any_numbers,
    as_booleans,
    as_numbers,
    as_text,
    as_times,
    flat,
    is_number,
    is_text,
    is_time,
)
from .errors import TableError, quoted

Kind = Literal["number", "category", "boolean", "datetime", "constant"]

MAX_KNOWN_CATEGORIES = 10_000
_IDENTIFIER_ROWS = 20


@dataclass(frozen=True)
class ColumnSchema:
    """One column as it was in training.

    `minimum` to `std` are a number's; of a boolean (as 0 and 1, so `mean` is the share of true); or a
    datetime's, in seconds since 1970. `categories` are (text, rows) pairs, most frequent first, at most
    10,000 of the `n_categories` seen. `value` is a constant's only value, as text.
    """

    name: str
    kind: Kind
    share_missing: float = 0.0
    minimum: float | None = None
    maximum: float | None = None
    mean: float | None = None
    std: float | None = None
    integer: bool = False
    categories: tuple[tuple[str, int], ...] = ()
    n_categories: int = 0
    value: str | None = None

    def summary(self) -> str:
        """The column in a few words."""
        if self.kind == "constant":
            return "always missing, not used" if self.value is None else f'always "{self.value}", not used'
        if self.kind == "category":
            shown = ", ".join(f"{text} ({rows})" for text, rows in self.categories[:4])
            return f"{self.n_categories} categories: {shown}{', ...' if self.n_categories > 4 else ''}"
        assert self.minimum is not None and self.maximum is not None and self.mean is not None
        if self.kind == "boolean":
            return f"{self.mean:.1%} true"
        if self.kind == "datetime":
            first, last = (np.datetime64(int(end), "s") for end in (self.minimum, self.maximum))
            return f"{first} to {last}"
        return f"{self.minimum:g} to {self.maximum:g}, mean {self.mean:g}, std {self.std:g}"


@dataclass(frozen=True)
class TableSchema:
    """The columns of a training table, in its order."""

    columns: tuple[ColumnSchema, ...]
    n_rows: int

    @classmethod
    def learn(
        cls, table: pa.Table, ignore: Iterable[str] = (), kinds: Mapping[str, Kind] | None = None
    ) -> "TableSchema":
        """Learn every column but those to ignore; a column no model can use is refused with the cure.

        `kinds` says what columns of text are, where that is known: some of a table's rows may look like numbers only.
        """
        left_out = list(ignore)
        unknown = [name for name in left_out if name not in table.column_names]
        if unknown:
            raise TableError(f"no column {quoted(unknown)} to ignore: there are {quoted(table.column_names, 20)}")
        if table.num_rows == 0:
            raise TableError("the table has no rows to learn from: pass at least one")
        names = [name for name in table.column_names if name not in left_out]
        known = kinds or {}
        columns = tuple(_learn_column(table.column(name), name, known.get(name)) for name in names)
        return cls(columns, table.num_rows)

    def __getitem__(self, name: str) -> ColumnSchema:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    @property
    def kinds(self) -> dict[str, Kind]:
        """What each column is, but for those that are constant."""
        return {column.name: column.kind for column in self.used}

    @property
    def used(self) -> tuple[ColumnSchema, ...]:
        """The columns that are not constant."""
        return tuple(column for column in self.columns if column.kind != "constant")

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, texts and finite numbers, for JSON; `from_dict` gives back an equal schema."""
        return {
            "n_rows": self.n_rows,
            "columns": [
                {
                    key: [list(pair) for pair in value] if key == "categories" else value
                    for key, value in dataclasses.asdict(column).items()
                    if value not in (None, ())
                }
                for column in self.columns
            ],
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "TableSchema":
        """Build the schema that `to_dict` described."""
        columns = []
        for column in state["columns"]:
            categories = tuple((text, rows) for text, rows in column.get("categories", ()))
            columns.append(ColumnSchema(**{**column, "categories": categories}))
        return cls(tuple(columns), state["n_rows"])

    def describe(self) -> list[dict[str, Any]]:
        """One row a column for people to read: column, kind, share missing, summary."""
        return [
            {"column": c.name, "kind": c.kind, "missing": c.share_missing, "summary": c.summary()} for c in self.columns
        ]


def _learn_column(column: pa.ChunkedArray, name: str, known: Kind | None) -> ColumnSchema:
    array = flat(column)
    kind = array.type
    if pa.types.is_null(kind):
        return ColumnSchema(name, "constant", share_missing=1.0)
    if is_text(kind):
        return _learn_text(array, name, known)
    if pa.types.is_boolean(kind):
        return _learn_numeric(as_booleans(array, name)[0], name, "boolean")
    if is_time(kind):
        return _learn_numeric(seconds(as_times(array, name)[0]), name, "datetime")
    if is_number(kind):
        values, problems = as_numbers(array, name)
        _refuse(problems)
        return _learn_numeric(values, name, "number")
    raise TableError(
        f'column "{name}" holds values of type {kind}, which cannot be learned from: '
        f'split it into plain columns, or leave it out with --ignore {name} (Python: ignore=["{name}"])'
    )


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise TableError(f"{problems[0].message()}: correct it, or leave it empty if the value is not known")


def seconds(times: "np.typing.NDArray[np.datetime64]") -> Floats:
    """Moments as seconds since 1970, NaN for missing."""
    counts = times.astype(np.int64).astype(np.float64) / 1e6
    return np.where(np.isnat(times), np.nan, counts)


def _learn_text(array: pa.Array, name: str, known: Kind | None) -> ColumnSchema:
    text = as_text(array)
    if text.null_count == len(text):
        return ColumnSchema(name, "constant", share_missing=1.0)
    kind = known or _kind_of_texts(text.drop_null().unique())
    if kind == "number":
        values, problems = as_numbers(text, name)
        _refuse(problems)
        return _learn_numeric(values, name, "number")
    if kind == "boolean":
        return _learn_numeric(as_booleans(text, name)[0], name, "boolean")
    if kind == "datetime":
        return _learn_numeric(seconds(as_times(text, name)[0]), name, "datetime")
    if known is None:
        _refuse_identifier(text, name)
    return _learn_categories(text, name)


def _kind_of_texts(different: pa.Array) -> Kind:
    if _all_read(as_any_numbers, different):
        return "number"
    if _all_read(as_booleans, different):
        return "boolean"
    return "datetime" if _all_read(as_times, different) else "category"


def _all_read(reading: Callable[[pa.Array, str], tuple[Any, list[Problem]]], texts: pa.Array) -> bool:
    """Whether every text reads that way. The first hundred mostly settle it, at a fraction of the cost."""
    return not reading(texts[:100], "")[1] and not reading(texts, "")[1]


def _refuse_identifier(text: pa.Array, name: str) -> None:
    n_known = len(text) - text.null_count
    if n_known >= _IDENTIFIER_ROWS and pc.count_distinct(text).as_py() == n_known:
        raise TableError(
            f'column "{name}" holds a different text in every row (an identifier?): '
            f'leave it out with --ignore {name} (Python: ignore=["{name}"])'
        )


def _learn_categories(text: pa.Array, name: str) -> ColumnSchema:
    counted = pc.value_counts(text.drop_null())
    rows = counted.field("counts").to_numpy()
    share_missing = text.null_count / len(text)
    texts = counted.field("values").to_pylist()
    if len(texts) == 1 and share_missing == 0:
        return ColumnSchema(name, "constant", value=texts[0])
    pairs = sorted(zip(texts, rows.tolist(), strict=True), key=lambda pair: (-pair[1], pair[0]))
    return ColumnSchema(
        name,
        "category",
        share_missing=share_missing,
        categories=tuple(pairs[:MAX_KNOWN_CATEGORIES]),
        n_categories=len(pairs),
    )


def _learn_numeric(values: Floats, name: str, kind: Kind) -> ColumnSchema:
    known = values[~np.isnan(values)]
    share_missing = (len(values) - len(known)) / len(values)
    if len(known) == 0:
        return ColumnSchema(name, "constant", share_missing=1.0)
    low, high = float(known.min()), float(known.max())
    if low == high and share_missing == 0:
        return ColumnSchema(name, "constant", value=_plain(low, kind))
    mean, std = mean_and_std(known)
    return ColumnSchema(
        name,
        kind,
        share_missing=share_missing,
        minimum=low,
        maximum=high,
        mean=mean,
        std=std,
        integer=bool((known == np.floor(known)).all()),
    )


def _plain(value: float, kind: Kind) -> str:
    if kind == "boolean":
        return "true" if value else "false"
    return str(np.datetime64(int(value), "s")) if kind == "datetime" else f"{value:g}"


def mean_and_std(values: Floats) -> tuple[float, float]:
    """Mean and population standard deviation, also where the sum of squares would overflow."""
    largest = float(np.abs(values).max())
    unit = largest if largest > 1e150 else 1.0
    scaled = values / unit
    mean, std = float(scaled.mean()) * unit, float(scaled.std()) * unit
    return mean, std if math.isfinite(std) else largest
