"""One Arrow column as plain arrays: numbers, true/false, moments in time, or text.

A table may hold a number as text (CSV chunks, JSON, object columns), so every function here takes any type
that can mean what is asked, and lists the rows that cannot. NaN, null and empty text are all "missing".
"""

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_TOGETHER_BYTES = 1 << 26  # of text, which then needs as much again

Floats = npt.NDArray[np.float64]
Times = npt.NDArray[np.datetime64]


@dataclass(frozen=True)
class Problem:
    """A value that does not fit its column. `row` counts from 0 within the table at hand."""

    column: str
    row: int
    what: str

    def message(self, rows_before: int = 0) -> str:
        """The sentence for people, who count data rows from 1."""
        return f'column "{self.column}", row {self.row + 1 + rows_before}: {self.what}'


def flat(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column as one array, decoded from a dictionary; free where it already is one."""
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # combine_chunks of no chunks at all
            column = pa.array([], column.type)
    if pa.types.is_dictionary(column.type):
        return column.dictionary_decode()
    if pa.types.is_string_view(column.type):
        return column.cast(pa.large_string())
    return column


def is_text(kind: pa.DataType) -> bool:
    """Whether values of this Arrow type are text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_time(kind: pa.DataType) -> bool:
    """Whether values of this Arrow type are dates, moments or times of day."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether values of this Arrow type are numbers."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_duration(kind)
    )


def as_numbers(column: pa.ChunkedArray | pa.Array, name: str) -> tuple[Floats, list[Problem]]:
    """A column as float64 with NaN for missing, and the rows that hold no finite number (NaN there too)."""
    values, problems = as_any_numbers(column, name)
    with np.errstate(over="ignore", invalid="ignore"):
        if math.isfinite(values.sum()):  # the usual case in one pass: no NaN, nothing infinite
            return values, problems
    endless = np.isinf(values)
    if endless.any():
        problems += [Problem(name, row, f"{values[row]} is not a finite number") for row in _rows(endless)]
        values = np.where(endless, np.nan, values)
    return values, problems


def as_numbers_together(columns: list[pa.ChunkedArray]) -> Floats | None:
    """Several columns as (columns, n), at the cost of one; None where they have to be looked at one by one.

    So it is where not all of them are text, or where one holds a value that is no finite number.
    """
    arrays = [flat(column) for column in columns]
    kinds = {array.type for array in arrays}
    if len(arrays) < 2 or not all(map(is_text, kinds)) or len(kinds) > 1:
        return None
    if sum(array.nbytes for array in arrays) > _TOGETHER_BYTES:
        return None
    values, problems = as_numbers(pa.concat_arrays(arrays), "")
    if problems:
        return None
    # What Arrow shares must not be written to, and whoever encodes rows may have to.
    return (values if values.flags.writeable else values.copy()).reshape(len(arrays), -1)


def as_any_numbers(column: pa.ChunkedArray | pa.Array, name: str) -> tuple[Floats, list[Problem]]:
    """The same, infinite numbers allowed."""
    array = flat(column)
    if is_text(array.type):
        return _parsed(array, name, _numbers_in_text, _number_in_text, "is not a number")
    if what := misfit(array.type, "number"):
        return _all_wrong(array, name, what)
    return _floats(array), []


def as_booleans(column: pa.ChunkedArray | pa.Array, name: str) -> tuple[Floats, list[Problem]]:
    """A column as 0.0 and 1.0 with NaN for missing, and the rows that are neither true nor false."""
    array = flat(column)
    if is_text(array.type):
        return _parsed(array, name, _booleans_in_text, _boolean_in_text, "is neither true nor false")
    values, problems = as_numbers(array, name)
    other = ~(np.isnan(values) | (values == 0) | (values == 1))
    problems += [Problem(name, int(row), f"{values[row]} is neither true nor false") for row in _rows(other)]
    return np.where(other, np.nan, values), problems


def as_times(column: pa.ChunkedArray | pa.Array, name: str) -> tuple[Times, list[Problem]]:
    """A column as datetime64[us] in UTC with NaT for missing, and the rows that are no date or time.

    A time of day alone is taken as that time on 1970-01-01, a moment without a zone as UTC.
    """
    array = flat(column)
    if is_text(array.type):
        return _parsed(array, name, _times_in_text, _time_in_text, "is not an ISO date or time")
    if what := misfit(array.type, "datetime"):
        values, problems = _all_wrong(array, name, what)
        return values.astype("datetime64[us]"), problems
    if pa.types.is_null(array.type):
        return np.full(len(array), "NaT", "datetime64[us]"), []
    return _times(array), []


def as_text(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column as text, null for missing. Whole floats lose their ".0": a code 7 may have come as 7.0."""
    array = flat(column)
    kind = array.type
    if pa.types.is_floating(kind):
        values = _floats(array)
        whole = np.isnan(values) | ((values == np.floor(values)) & (np.abs(values) < 2**53))
        mask = np.isnan(values)
        if whole.all():
            return pa.array(np.where(mask, 0, values).astype(np.int64), mask=mask).cast(pa.string())
        return pa.array(values, mask=mask).cast(pa.string())
    if not is_text(kind):
        return _as_any_text(array)
    empty = pc.equal(array, pa.scalar("", kind))
    return pc.if_else(empty, pa.scalar(None, kind), array) if pc.any(empty).as_py() else array


def _as_any_text(array: pa.Array) -> pa.Array:
    """What is no text in its usual spelling; lists, bytes and the like as Python shows them."""
    try:
        return array.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return pa.array([None if value is None else str(value) for value in array.to_pylist()], pa.string())


def _floats(array: pa.Array) -> Floats:
    kind = array.type
    if pa.types.is_duration(kind):
        # Unsafe only in that parts of a microsecond are cut off.
        return _floats(array.cast(pa.duration("us"), safe=False).cast(pa.int64())) / 1e6
    if not pa.types.is_float64(kind):
        # Unsafe only in that integers beyond 2**53 lose their last digits, as in any float64.
        array = array.cast(pa.int8()) if pa.types.is_boolean(kind) else array
        array = array.cast(pa.float64(), safe=False)
    values: Floats = array.to_numpy(zero_copy_only=False)
    return values


def _times(array: pa.Array) -> Times:
    if pa.types.is_time(array.type):
        array = array.cast(pa.time64("us"), safe=False).cast(pa.int64()).cast(pa.timestamp("us"))
    zone = array.type.tz if pa.types.is_timestamp(array.type) else None
    moments = array.cast(pa.timestamp("us", zone), safe=False).cast(pa.timestamp("us"))
    values: Times = moments.to_numpy(zero_copy_only=False)
    return values


def _rows(mask: npt.NDArray[np.bool_]) -> list[int]:
    return np.flatnonzero(mask).tolist()


def misfit(found: pa.DataType, kind: str) -> str | None:
    """Why no value of an Arrow type can be in a column of some kind; None where it can, as far as the type tells."""
    if is_text(found) or pa.types.is_null(found):
        return None
    if kind == "category":
        fits, wanted = not pa.types.is_nested(found), "a category"
    elif kind == "datetime":
        fits, wanted = is_time(found), "a date"
    else:
        fits, wanted = is_number(found) or pa.types.is_boolean(found), "a number"
    return None if fits else f"a value of type {found} where {wanted} is expected"


def without_misfits(column: pa.ChunkedArray, name: str) -> tuple[pa.ChunkedArray, list[Problem]]:
    """A category column, empty where its type can hold none, and then the rows that hold something."""
    what = misfit(column.type.value_type if pa.types.is_dictionary(column.type) else column.type, "category")
    if what is None:
        return column, []
    return pa.chunked_array([pa.nulls(len(column), pa.string())]), _all_wrong(flat(column), name, what)[1]


def _all_wrong(array: pa.Array, name: str, what: str) -> tuple[Floats, list[Problem]]:
    rows = _rows(array.is_valid().to_numpy(zero_copy_only=False))
    return np.full(len(array), np.nan), [Problem(name, row, what) for row in rows]


def _parsed(
    array: pa.Array,
    name: str,
    parse_all: Callable[[pa.Array], Any],
    parse_one: Callable[[str], Any],
    complaint: str,
) -> tuple[Any, list[Problem]]:
    """Parse text at Arrow's speed; where that fails, each different text once, to find the ones at fault."""
    array = as_text(array if _surely_trimmed(array) else pc.utf8_trim_whitespace(array))
    try:
        return parse_all(array), []
    except pa.ArrowInvalid:
        pass
    coded = array.dictionary_encode()
    parsed = [parse_one(text) for text in coded.dictionary.to_pylist()]
    wrong = np.array([value is None for value in parsed] + [False])
    missing = parse_all(pa.array([None], pa.string()))
    known = np.array([missing[0] if value is None else value for value in parsed] + [missing[0]], missing.dtype)
    place = coded.indices.fill_null(len(parsed)).to_numpy(zero_copy_only=False)
    problems = [Problem(name, row, f'"{array[row].as_py()}" {complaint}') for row in _rows(wrong[place])]
    return known[place], problems


def _surely_trimmed(array: pa.Array) -> bool:
    """Whether no text has white space around it, known at a tenth of the cost of trimming: numbers seldom have any."""
    text = text_bytes(array)
    return len(text) == 0 or bool(text.min() > ord(" ") and text.max() < 128)


def text_bytes(array: pa.Array) -> npt.NDArray[np.uint8]:
    """All texts of an array one after another, as they lie in memory."""
    _, offsets, data = array.buffers()
    if data is None or len(array) == 0:
        return np.empty(0, np.uint8)
    ends = np.frombuffer(offsets, np.int32 if pa.types.is_string(array.type) else np.int64)
    return np.frombuffer(data, np.uint8)[ends[array.offset] : ends[array.offset + len(array)]]


def _numbers_in_text(array: pa.Array) -> Floats:
    return _floats(array.cast(pa.float64()))


def _number_in_text(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _booleans_in_text(array: pa.Array) -> Floats:
    return _floats(array.cast(pa.bool_()))


def _boolean_in_text(text: str) -> float | None:
    return {"true": 1.0, "1": 1.0, "1.0": 1.0, "false": 0.0, "0": 0.0, "0.0": 0.0}.get(text.lower())


def _times_in_text(array: pa.Array) -> Times:
    """All moments without a zone, all with one, or all times of day; a mixture is left to `_time_in_text`."""
    on_a_day = pc.replace_substring_regex(array, pattern=r"^(\d\d:\d\d)", replacement=r"1970-01-01T\1")
    for attempt in (array, on_a_day):
        for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
            try:
                return _times(attempt.cast(kind))
            except pa.ArrowInvalid:
                continue
    raise pa.ArrowInvalid("not all texts are times of one form")


def _time_in_text(text: str) -> np.datetime64 | None:
    for prefix in ("", "1970-01-01T"):
        try:
            moment = datetime.datetime.fromisoformat(prefix + text)
        except ValueError:
            continue
        if moment.tzinfo is not None:
            moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
        return np.datetime64(moment, "us")
    return None
