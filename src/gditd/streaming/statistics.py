"""What a column holds, gathered piece by piece in little memory, and joined with what another piece holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gditd.tables.columns import Floats, as_any_numbers, as_booleans, as_numbers, as_times

MOST_CATEGORIES = 10_000  # that are counted one by one

# Ways to read a text that is more than a category, in the order in which they are tried.
READINGS = {"number": as_any_numbers, "boolean": as_booleans, "datetime": as_times}


@dataclass
class NumberStatistics:
    """Count, range, mean and spread of numbers; what is not there is NaN."""

    count: int = 0
    missing: int = 0
    minimum: float = math.inf
    maximum: float = -math.inf
    mean: float = 0.0
    squares: float = 0.0
    """The sum of the squared distances to the mean."""

    @classmethod
    def of(cls, values: Floats) -> NumberStatistics:
        """Measure some numbers."""
        total = float(values.sum())
        known = values if math.isfinite(total) else values[~np.isnan(values)]
        if len(known) == 0:
            return cls(missing=len(values))
        mean = float(known.mean())
        away = known - mean
        squares = float(np.dot(away, away))
        return cls(len(known), len(values) - len(known), float(known.min()), float(known.max()), mean, squares)

    def add(self, other: NumberStatistics) -> None:
        """Join with what others are, by the rule of Chan, Golub and LeVeque, which loses no digits to large means."""
        count = self.count + other.count
        if other.count:
            apart = other.mean - self.mean
            self.squares += other.squares + apart * apart * (self.count * other.count / count)
            self.mean += apart * (other.count / count)
        self.count = count
        self.missing += other.missing
        self.minimum = min(self.minimum, other.minimum)
        self.maximum = max(self.maximum, other.maximum)

    @property
    def std(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.squares / self.count) if self.count else math.nan

    @property
    def varies(self) -> bool:
        """Whether there is anything to learn from."""
        return self.count > 0 and (self.minimum < self.maximum or self.missing > 0)


@dataclass
class TextStatistics:
    """Texts with their numbers of rows, and what disproves that all of them are numbers, booleans or dates.

    Beyond MOST_CATEGORIES different texts, new ones are no longer counted one by one.
    """

    count: int = 0
    missing: int = 0
    categories: dict[str, int] = field(default_factory=dict)
    overflow: bool = False
    witnesses: dict[str, str] = field(default_factory=dict)
    """By the name of a reading, where the first text is that cannot be read so, and which."""
    endless: str | None = None
    """Where the first number is that is not finite."""

    def add(self, text: pa.Array, where: Callable[[int], str]) -> None:
        """Count the texts of one more piece; `where` says where a row of it is."""
        self.count += len(text) - text.null_count
        self.missing += text.null_count
        counted = pc.value_counts(text.drop_null())
        different = counted.field("values")
        self._count(different.to_pylist(), counted.field("counts").to_pylist())
        self._try_readings(different, lambda value: f'{where(pc.index(text, value).as_py())} holds "{value}"')

    @property
    def kind(self) -> str:
        """What all texts can be read as."""
        return next((reading for reading in READINGS if reading not in self.witnesses), "category")

    @property
    def varies(self) -> bool:
        """Whether there is anything to learn from."""
        return len(self.categories) > 1 or (len(self.categories) == 1 and self.missing > 0)

    def _count(self, texts: list[str], rows: list[int]) -> None:
        for text, own in zip(texts, rows, strict=True):
            if text in self.categories or len(self.categories) < MOST_CATEGORIES:
                self.categories[text] = self.categories.get(text, 0) + own
            else:
                self.overflow = True

    def _try_readings(self, different: pa.Array, told: Callable[[pa.Scalar], str]) -> None:
        for reading, read in READINGS.items():
            if reading in self.witnesses:
                continue
            _, problems = read(different, "")
            if problems:
                self.witnesses[reading] = told(different[problems[0].row])
        if "number" not in self.witnesses and self.endless is None:
            _, endless = as_numbers(different, "")
            self.endless = told(different[endless[0].row]) if endless else None
