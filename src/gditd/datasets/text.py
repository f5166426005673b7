"""Parse text tables with the C parser of pandas, and name the line when one is wrong."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gditd.datasets.base import DatasetError
from gditd.datasets.publication import RawFile

_EXCERPT = 40

# pandas raises the second for a whole number of more than 64 bits.
_UNPARSABLE = (ValueError, OverflowError)


class Lines(NamedTuple):
    """The lines of a file that are not blank, each with its number in the file."""

    label: str
    numbers: list[int]
    texts: list[bytes]

    def error(self, row: int, problem: str) -> DatasetError:
        """Build the error for the line of data row `row`."""
        return DatasetError(f"{self.label}, line {self.numbers[row]}: {problem}")


def split_lines(file: RawFile) -> Lines:
    """Split a file into stripped lines, without the blank ones."""
    stripped = [line.strip() for line in file.content.splitlines()]
    kept = [number for number, line in enumerate(stripped, start=1) if line]
    if not kept:
        raise DatasetError(f"{file.label}: the file is empty, download it again")
    return Lines(file.label, kept, [stripped[number - 1] for number in kept])


def check_fields(lines: Lines, fields: Sequence[int], expected: int) -> None:
    """Raise for the first line whose number of fields is not the expected one."""
    wrong = np.flatnonzero(np.asarray(fields) != expected)
    if wrong.size:
        row = int(wrong[0])
        raise lines.error(row, f"{fields[row]} fields where {expected} are expected")


def parse_numbers(lines: Lines, n_fields: int) -> NDArray[np.float64]:
    """Parse lines of numbers that white space separates into an (n, n_fields) array."""
    check_fields(lines, [len(text.split()) for text in lines.texts], n_fields)
    frame = parse_table(lines, r"\s+", dict.fromkeys(range(n_fields), np.float64))
    # pandas stores columns, and hands out a read-only view of them.
    values = np.array(frame, dtype=np.float64, order="C")
    infinite = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if infinite.size:
        raise lines.error(int(infinite[0]), "a value is missing or not finite")
    return values


def parse_table(lines: Lines, separator: str, dtypes: Mapping[Hashable, Any]) -> pd.DataFrame:
    """Parse lines into a frame with one column for each entry of `dtypes`."""

    def parse(texts: list[bytes]) -> pd.DataFrame:
        return pd.read_csv(
            io.BytesIO(b"\n".join(texts)),
            sep=separator,
            header=None,
            names=list(dtypes),
            dtype=dict(dtypes),
            index_col=False,
            # Text such as "NA" is a value here, and a missing number must be an error.
            na_filter=False,
            quoting=csv.QUOTE_NONE,
            low_memory=False,
        )

    try:
        return parse(lines.texts)
    except _UNPARSABLE as error:
        row = _first_failure(lines.texts, parse)
        excerpt = lines.texts[row][:_EXCERPT].decode("ascii", "backslashreplace")
        raise lines.error(row, f"a value is not of the expected type in '{excerpt}...'") from error


def _first_failure(texts: list[bytes], parse: Callable[[list[bytes]], object]) -> int:
    """Find the first line that does not parse, by halving: about two further passes in all."""
    low, high = 0, len(texts)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            parse(texts[low:middle])
        except _UNPARSABLE:
            high = middle
        else:
            low = middle
    return low
