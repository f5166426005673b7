"""Rows of numbers as they lie in an array, for whoever need not take them apart into columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .columns import Floats

_PLAIN = {np.dtype(kind) for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")}


@dataclass(frozen=True)
class Grid:
    """Numbers of one type, (n, columns), and the columns' names."""

    values: npt.NDArray[Any]
    column_names: list[str]

    @classmethod
    def of(cls, array: npt.NDArray[Any], column_names: list[str]) -> "Grid | None":
        """None for an array of anything but numbers that are turned to float64 as Arrow turns them."""
        fits = array.ndim == 2 and array.shape[1] == len(column_names) and array.dtype in _PLAIN
        return cls(array, column_names) if fits else None

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return len(self.values)

    def slice(self, start: int, length: int) -> "Grid":
        """Some of the rows, shared."""
        return Grid(self.values[start : start + length], self.column_names)

    def floats(self, names: list[str]) -> Floats:
        """The columns of these names as (n, columns) float64, shared where they can be; not to be written to."""
        values = self.values
        if names != self.column_names:
            places = {name: place for place, name in enumerate(self.column_names)}
            values = values[:, [places[name] for name in names]]
        floats: Floats = values.astype(np.float64, copy=False)
        # What torch could not share, or not without a warning.
        odd = not floats.flags.writeable or any(stride < 0 or stride % 8 for stride in floats.strides)
        return floats.copy() if odd else floats
