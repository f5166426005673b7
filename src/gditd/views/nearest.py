"""The nearest prototypes of the two classes that a row is nearest to, compiled: torch takes many steps for it."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from gditd.views.compiling import compiled, filled, given, inlined


@inlined
def _place(likeness: NDArray[np.float32], row: Any, start: Any, length: Any, value: Any) -> Any:
    """The first place of a value in a stretch of a row; the last place where it is not there."""
    place, last = start, start + length - 1
    while place < last and likeness[row, np.uint64(place)] != value:
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
    largest: NDArray[np.float32],
    points: NDArray[np.float32],
    prototypes: NDArray[np.float32],
    distances: NDArray[np.float64],
) -> None:
    """Squared distances (n, 2) of points (n, r) to the nearest prototypes of the two nearest classes.

    `likeness` (n, classes * p) is how near a point is to each of the prototypes (classes * p, r), and `largest`
    (n, classes) the largest of each class, of which there are two at least. Nothing is checked: everything must fit.
    """
    n_classes = largest.shape[1]
    length = likeness.shape[1] // n_classes
    for row in range(len(points)):
        first, second = (0, 1) if largest[row, 0] >= largest[row, 1] else (1, 0)
        for c in range(2, n_classes):
            if largest[row, c] > largest[row, first]:
                first, second = c, first
            elif largest[row, c] > largest[row, second]:
                second = c
        for number, c in enumerate((first, second)):
            place = _place(likeness, row, c * length, length, largest[row, c])
            distances[row, number] = _squared_distance(points, row, prototypes, place)


two_nearest = compiled(
    _two_nearest,
    given(numba.float32, 2),
    given(numba.float32, 2),
    given(numba.float32, 2),
    given(numba.float32, 2),
    filled(numba.float64, 2),
)
