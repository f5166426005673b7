"""The nearest prototypes of the two classes that a row is nearest to, compiled: torch takes many steps for it."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from gditd.views.compiling import compiled, filled, given, inlined
from gditd.views.lanes import WIDE_LANES, largest


@inlined
def _largest(values: NDArray[np.float32], start: Any, length: Any) -> Any:
    """The largest of a stretch of values."""
    if length % WIDE_LANES == 0:
        return largest(values, start, length)
    found = values[start]
    for place in range(start + 1, start + length):
        found = max(found, values[place])
    return found


@inlined
def _place(values: NDArray[np.float32], start: Any, length: Any, value: Any) -> Any:
    """The first place of a value in a stretch of some; the last place where it is not there."""
    place, last = start, start + length - 1
    while place < last and values[np.uint64(place)] != value:
        place += 1
    return place


@inlined
def _squared_distance(points: NDArray[np.float32], row: Any, prototypes: NDArray[np.float32], place: Any) -> Any:
    """Summed up in float64, so that it is the same in whatever order another program adds.

    Four sums at a time, as there are a multiple of four axes: an addition waits for the one before it.
    """
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    for axis in range(0, points.shape[1], 4):
        first += np.float64(points[row, axis] - prototypes[place, axis]) ** 2
        second += np.float64(points[row, axis + 1] - prototypes[place, axis + 1]) ** 2
        third += np.float64(points[row, axis + 2] - prototypes[place, axis + 2]) ** 2
        fourth += np.float64(points[row, axis + 3] - prototypes[place, axis + 3]) ** 2
    return (first + second) + (third + fourth)


def _two_nearest(
    likeness: NDArray[np.float32],
    n_classes: int,
    points: NDArray[np.float32],
    prototypes: NDArray[np.float32],
    distances: NDArray[np.float64],
) -> None:
    """Squared distances (n, 2) of points (n, r) to the nearest prototypes of the two nearest classes.

    `likeness` (n, classes * p) is how near a point is to each of the prototypes (classes * p, r). There are two classes
    at least. Nothing is checked: everything must fit.
    """
    values, width = likeness.reshape(-1), likeness.shape[1]
    length = width // n_classes
    own = np.empty(n_classes, np.float32)
    for row in range(len(points)):
        start = row * width
        for c in range(n_classes):
            own[c] = _largest(values, start + c * length, length)
        first, second = (0, 1) if own[0] >= own[1] else (1, 0)
        for c in range(2, n_classes):
            if own[c] > own[first]:
                first, second = c, first
            elif own[c] > own[second]:
                second = c
        for number, c in enumerate((first, second)):
            place = _place(values, start + c * length, length, own[c]) - start
            distances[row, number] = _squared_distance(points, row, prototypes, place)


two_nearest = compiled(
    _two_nearest,
    given(numba.float32, 2),
    numba.int64,
    given(numba.float32, 2),
    given(numba.float32, 2),
    filled(numba.float64, 2),
)
