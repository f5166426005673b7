"""The questions of ferns, compiled: which to ask, what rows answer, and what their answers are worth."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from gditd.views.compiling import compiled, filled, given, inlined
from gditd.views.lanes import LANES, add_lanes

COLUMN_ROWS = 256  # whose values are turned into columns at a time: those of all columns stay in the cache
# Between two columns lie a few more numbers than they have rows. A cache puts what lies powers of two apart in the same
# few places, so that columns would push each other out.
COLUMN_STRIDE = COLUMN_ROWS + 16
LOOK_ROWS = 2048  # that look at a fern before the next: its entries stay in the cache


@inlined
def _answer(value: Any, threshold: Any) -> Any:
    """1 above the threshold, else 0; what is not a number lies above, as in a tree."""
    return np.int32(not (value <= threshold))


def _best_question(
    columns: NDArray[np.float32],
    thresholds: NDArray[np.float32],
    cells: NDArray[np.int64],
    n_cells: int,
    classes: tuple[NDArray[np.int64], int],
) -> int:
    """Which of the questions, a column (questions, n) and a threshold each, leaves the purest cells.

    Purest by Gini's measure, all cells (n,) cut by the same question; `classes` are the rows' classes and their number.
    """
    codes, n_classes = classes
    best, purest = 0, -1.0
    counts = np.empty((2 * n_cells, n_classes))
    for question in range(len(columns)):
        counts[:] = 0
        for row in range(len(cells)):
            counts[2 * cells[row] + _answer(columns[question, row], thresholds[question]), codes[row]] += 1
        purity = 0.0
        for cell in range(2 * n_cells):
            total, squares = 0.0, 0.0
            for c in range(n_classes):
                total += counts[cell, c]
                squares += counts[cell, c] * counts[cell, c]
            if total > 0:
                purity += squares / total
        if purity > purest:
            best, purest = question, purity
    return best


def _cut(column: NDArray[np.float32], threshold: float, cells: NDArray[np.int64], n_cells: int) -> int:
    """Cut each of the cells (n,) that rows are in by a question; they are numbered anew, as they come: how many?"""
    numbers = np.full(2 * n_cells, -1)
    count = 0
    for row in range(len(cells)):
        turn = 2 * cells[row] + _answer(column[row], threshold)
        if numbers[turn] < 0:
            numbers[turn] = count
            count += 1
        cells[row] = numbers[turn]
    return count


def _answer_all(columns: NDArray[np.float32], thresholds: NDArray[np.float32], cells: NDArray[np.int32]) -> None:
    """All answers of rows, one bit each, as a number (n,): columns (questions, n) and a threshold each.

    The numbers, `cells`, start at 0.
    """
    for question in range(len(columns)):
        for row in range(len(cells)):
            cells[row] = 2 * cells[row] + _answer(columns[question, row], thresholds[question])


def _look_up(
    questions: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]],
    entries: tuple[NDArray[np.int16], NDArray[np.int64], int, NDArray[np.int16]],
    rows: NDArray[np.float32],
    sums: NDArray[np.int32],
) -> None:
    """Add up what ferns say of rows (n, features): whole numbers (n, full lanes) that start at 0.

    `questions` are the columns asked for, and of each fern the places among them and the thresholds, (ferns, questions)
    both. `entries` are the entry of each cell, (ferns, cells), where those of a fern start, how many values an entry
    has, and all of these one after another. Whole lanes are added up: in sums behind an entry's values stands what is
    no use, from the entry that follows it, and behind the last entry there must be enough to read.

    Nothing is checked: everything must fit.
    """
    asked, places, thresholds = questions
    entry_of_cell, first, n_values, values = entries
    n_ferns, n_questions = places.shape
    totals, n_sums = sums.reshape(-1), np.uint64(sums.shape[1])
    columns = np.zeros((len(asked), COLUMN_STRIDE), np.float32)
    cells = np.zeros((n_ferns, LOOK_ROWS), np.int32)
    for start in range(0, len(rows), LOOK_ROWS):
        block = rows[start : start + LOOK_ROWS]
        for part in range(0, len(block), COLUMN_ROWS):
            some = block[part : part + COLUMN_ROWS]
            for row in range(len(some)):
                for column in range(len(asked)):
                    columns[column, row] = some[row, asked[column]]
            for fern in range(n_ferns):
                own = cells[fern, part : part + COLUMN_ROWS]
                own[:] = 0
                for question in range(n_questions):
                    column, threshold = columns[places[fern, question]], thresholds[fern, question]
                    for row in range(COLUMN_ROWS):
                        own[row] = 2 * own[row] + _answer(column[row], threshold)
        for fern in range(n_ferns):
            for row in range(len(block)):
                entry = np.uint64(first[fern] + entry_of_cell[fern, cells[fern, row]]) * np.uint64(n_values)
                own_sums = np.uint64(start + row) * n_sums
                for value in range(np.uint64(0), n_sums, np.uint64(LANES)):
                    add_lanes(totals, own_sums + value, values, entry + value)


best_question = compiled(
    _best_question,
    given(numba.float32, 2),
    given(numba.float32, 1),
    given(numba.int64, 1),
    numba.int64,
    numba.types.Tuple((given(numba.int64, 1), numba.int64)),
    gives=numba.int64,
)

cut = compiled(_cut, given(numba.float32, 1), numba.float32, filled(numba.int64, 1), numba.int64, gives=numba.int64)

answer_all = compiled(_answer_all, given(numba.float32, 2), given(numba.float32, 1), filled(numba.int32, 1))

look_up = compiled(
    _look_up,
    numba.types.Tuple((given(numba.int64, 1), given(numba.int64, 2), given(numba.float32, 2))),
    numba.types.Tuple((given(numba.int16, 2), given(numba.int64, 1), numba.int64, given(numba.int16, 1))),
    given(numba.float32, 2),
    filled(numba.int32, 2),
)
