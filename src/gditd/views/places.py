"""Where in a row a value lies, compiled: torch finds a largest value many times faster than its place."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from gditd.views.compiling import compiled, filled, given


def _find_places(
    rows: NDArray[np.float32],
    values: NDArray[np.float32],
    starts: NDArray[np.int64],
    length: int,
    found: NDArray[np.int64],
) -> None:
    """The first place of each value (n, m) in its own stretch of the row, (n, m): rows (n, width), starts (n, m).

    A value that is not there has the last place of its stretch. Nothing is checked: every stretch must lie in the row.
    """
    for row in range(len(rows)):
        for number in range(starts.shape[1]):
            place, last = starts[row, number], starts[row, number] + length - 1
            while place < last and rows[row, np.uint64(place)] != values[row, number]:
                place += 1
            found[row, number] = place


find_places = compiled(
    _find_places,
    given(numba.float32, 2),
    given(numba.float32, 2),
    given(numba.int64, 2),
    numba.int64,
    filled(numba.int64, 2),
)
