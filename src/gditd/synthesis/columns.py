"""Columns of a table that can be mixed: numbers and moments by weight, everything else by choosing one parent's value.

Whatever its type, a column is held as float64 with NaN for missing, so that a whole row can be compared with another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gditd.synthesis.mixing import Mixtures, Rows
from gditd.tables import TableError
from gditd.tables.columns import as_numbers, flat, is_number, is_text, is_time

Values = NDArray[np.float64]

LEAST_ROWS = 5  # what fewer rows share is never released: it would point to them
IDENTIFIER_ROWS = 20  # below, no share of different texts says much
MOST_DECIMALS = 4
# Steps that dates and times may keep to, as units of their own: a date-time of whole days stays one.
_STEPS_A_SECOND = (86_400, 3_600, 60, 1)
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_LARGEST = float(np.nextafter(2.0**63, 0))  # what still fits a 64-bit integer


@dataclass(frozen=True)
class NumberColumn:
    """Numbers, dates and times; `step` is what all values are multiples of, 0 where there is no such step."""

    name: str
    values: Values
    kind: pa.DataType
    step: float

    def mixed(self, mixtures: Mixtures, members: Rows, rng: np.random.Generator) -> Values:
        """Mix by weight; a gap counts as the class's mean, and is passed on as often as parents have one."""
        own = self.values[members]
        known = own[~np.isnan(own)]
        if len(known) < min(LEAST_ROWS, len(own)):
            return np.full(len(mixtures.parents), np.nan)
        filled = np.where(np.isnan(self.values), known.mean(), self.values)
        mixed = on_steps((mixtures.weights * filled[mixtures.parents]).sum(axis=1), self.step, rng)
        if self.kind.bit_width < 64 and pa.types.is_floating(self.kind):
            mixed = mixed.astype(np.float32).astype(float)  # as it will be stored, so that a copy is seen as one
        if len(known) == len(own):
            return mixed
        return np.where(np.isnan(self.values[mixtures.drawn(rng)]), np.nan, mixed)

    def arrow(self, values: Values) -> pa.Array:
        """Values in the column's own type."""
        gaps = np.isnan(values)
        filled = np.where(gaps, 0, values)
        if pa.types.is_floating(self.kind) or pa.types.is_decimal(self.kind):
            return pa.array(filled, mask=gaps).cast(self.kind, safe=False)
        whole = np.clip(filled, -_LARGEST, _LARGEST).astype(np.int64)
        if pa.types.is_uint64(self.kind):
            whole = filled.astype(np.uint64)
        return pa.array(whole, mask=gaps).cast(_integers(self.kind)).cast(self.kind)

    def note(self) -> str | None:
        """Nothing to say: every number is mixed."""
        return None


@dataclass(frozen=True)
class ChoiceColumn:
    """Texts, categories and booleans as codes; codes beyond `common` stand for values too rare to release."""

    name: str
    values: Values
    kind: pa.DataType
    common: pa.Array

    def mixed(self, mixtures: Mixtures, members: Rows, rng: np.random.Generator) -> Values:
        """Choose a parent's value; for a rare one, that of any row of the class which has none."""
        chosen = self.values[mixtures.drawn(rng)]
        rare = chosen >= len(self.common)
        if rare.any():
            own = self.values[members]
            allowed = own[~(own >= len(self.common))]
            chosen[rare] = rng.choice(allowed, rare.sum()) if len(allowed) else np.nan
        return chosen

    def arrow(self, values: Values) -> pa.Array:
        """Values in the column's own type; of a dictionary's entries only those that may be released."""
        gaps = np.isnan(values)
        codes = pa.array(np.where(gaps, 0, values).astype(np.int64), mask=gaps)
        if pa.types.is_dictionary(self.kind):
            codes = codes.cast(self.kind.index_type)
            return pa.DictionaryArray.from_arrays(codes, self.common, ordered=self.kind.ordered)
        return self.common.take(codes).cast(self.kind)

    def note(self) -> str | None:
        """How many values are too rare."""
        rare = self.values[self.values >= len(self.common)]
        if not len(rare):
            return None
        return (
            f'column "{self.name}": {len(np.unique(rare))} of its values occur in fewer than {LEAST_ROWS} rows '
            f"({len(rare):,} rows in all) and are not released"
        )


Column = NumberColumn | ChoiceColumn


def read_columns(table: pa.Table) -> list[Column]:
    """Every column of a table, or an error that names the one that cannot be released."""
    return [_read(table.column(name), name) for name in table.column_names]


def _read(column: pa.ChunkedArray, name: str) -> Column:
    kind = column.type
    if is_number(kind) or is_time(kind):
        return _read_numbers(flat(column), name)
    if is_text(kind) or pa.types.is_string_view(kind) or pa.types.is_dictionary(kind) or pa.types.is_boolean(kind):
        return _read_choices(column, name)
    if pa.types.is_null(kind):
        return ChoiceColumn(name, np.full(len(column), np.nan), kind, pa.array([], kind))
    raise TableError(
        f'column "{name}" holds values of type {kind}, which cannot be mixed: split it into plain columns, '
        f'or leave it out with --ignore {name} (Python: ignore=["{name}"])'
    )


def _read_numbers(array: pa.Array, name: str) -> Column:
    kind = array.type
    if is_time(kind) or pa.types.is_duration(kind):
        counts = array.cast(_integers(kind)).cast(pa.int64())
        values = counts.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return NumberColumn(name, _plain(values), kind, _time_step(values, kind))
    values, problems = as_numbers(array, name)
    if problems:
        raise TableError(f"{problems[0].message()}: correct it, or leave it empty if the value is not known")
    step = 1.0 if pa.types.is_integer(kind) else _decimal_step(values)
    return NumberColumn(name, _plain(values), kind, step)


def _read_choices(column: pa.ChunkedArray, name: str) -> Column:
    different = _different(column)
    places = pc.index_in(flat(column), value_set=different)
    codes = places.cast(pa.float64()).to_numpy(zero_copy_only=False)
    counts = np.bincount(codes[~np.isnan(codes)].astype(np.int64), minlength=len(different))
    common = np.flatnonzero(counts >= LEAST_ROWS)
    order = np.concatenate([common, np.flatnonzero(counts < LEAST_ROWS)])
    place = np.append(np.argsort(order), np.nan)  # the last for what is missing
    values = place[np.where(np.isnan(codes), len(order), codes).astype(np.int64)]
    return ChoiceColumn(name, values, column.type, different.take(pa.array(common)))


def _different(column: pa.ChunkedArray) -> pa.Array:
    """The values that occur, those of a dictionary in its order."""
    if pa.types.is_dictionary(column.type):
        return column.unify_dictionaries().chunk(0).dictionary.unique().drop_null()
    return flat(column).unique().drop_null()


def refuse_identifiers(table: pa.Table) -> None:
    """Refuse texts that differ in more than half of the rows: hardly any of them could be released."""
    for name in table.column_names:
        texts = flat(table.column(name)).drop_null()
        if not is_text(texts.type) or len(texts) < IDENTIFIER_ROWS:
            continue
        different = len(texts.unique())
        if different > len(texts) / 2:
            raise TableError(
                f'column "{name}" holds {different:,} different texts in {len(texts):,} rows, which point to single '
                f'rows (an identifier?): leave it out with --ignore {name} (Python: ignore=["{name}"])'
            )


def on_steps(values: Values, step: float, rng: np.random.Generator) -> Values:
    """Round up or down by chance, so that neither means nor rare ones among zeros are lost."""
    if step == 0:
        return values
    if step >= 1:
        return np.floor(values / step + rng.random(len(values))) * step
    return np.round(np.floor(values / step + rng.random(len(values))) * step, MOST_DECIMALS)


def _decimal_step(values: Values) -> float:
    """The decimal place that all numbers end at, 0 where they go beyond the fourth."""
    known = values[~np.isnan(values)]
    for decimals in range(MOST_DECIMALS + 1):
        if np.array_equal(np.round(known, decimals), known):
            return float(10.0**-decimals)
    return 0.0


def _time_step(values: Values, kind: pa.DataType) -> float:
    """The longest of day, hour, minute and second that all moments are multiples of, else their own unit."""
    unit = 1 if pa.types.is_date32(kind) else _UNITS["ms" if pa.types.is_date64(kind) else kind.unit]
    known = values[~np.isnan(values)]
    steps = [] if pa.types.is_date32(kind) else [unit * seconds for seconds in _STEPS_A_SECOND]
    return float(next((step for step in steps if not np.mod(known, step).any()), 1))


def _integers(kind: pa.DataType) -> pa.DataType:
    """The integers that a number or moment is stored as."""
    if pa.types.is_integer(kind):
        return kind
    return pa.int32() if pa.types.is_date32(kind) or pa.types.is_time32(kind) else pa.int64()


def _plain(values: Any) -> Values:
    """One spelling of NaN and of zero, so that equal rows have equal bytes."""
    return np.where(np.isnan(values), np.nan, values) + 0.0
