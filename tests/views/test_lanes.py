import numba
import numpy as np
import pytest

from gditd.views.compiling import compiled, filled, given
from gditd.views.lanes import LANES, WIDE_LANES, add_lanes, in_lanes, largest


def add_all(values, sums, first):
    add_lanes(sums, np.uint64(1), values, np.uint64(first))


ADD_ALL = compiled(add_all, given(numba.int16, 1), filled(numba.int32, 1), numba.int64)


def test_whole_lanes_are_added_and_nothing_beside_them():
    values = np.random.default_rng(0).integers(-(2**15), 2**15, size=3 * LANES).astype(np.int16)
    sums = np.arange(LANES + 2, dtype=np.int32) * 2**20
    before = sums.copy()
    ADD_ALL(values, sums, 5)
    ADD_ALL(values, sums, 9)
    assert (sums[[0, -1]] == before[[0, -1]]).all()
    more = values[5 : 5 + LANES].astype(np.int32) + values[9 : 9 + LANES]
    assert (sums[1:-1] == before[1:-1] + more).all()


@pytest.mark.parametrize(("count", "filled_up"), [(0, 0), (1, LANES), (LANES, LANES), (LANES + 1, 2 * LANES)])
def test_numbers_fill_whole_lanes(count, filled_up):
    assert in_lanes(count) == filled_up


def largest_of(values, first, count):
    return largest(values, first, count)


LARGEST = compiled(largest_of, given(numba.float32, 1), numba.int64, numba.int64, gives=numba.float32)


@pytest.mark.parametrize("n_lanes", [1, 2, 7])
def test_the_largest_is_found_wherever_it_stands_and_nothing_beside_the_lanes_counts(n_lanes):
    count = n_lanes * WIDE_LANES
    values = -1 - np.random.default_rng(0).random(count + 2).astype(np.float32)
    values[[0, -1]] = 9.0
    for place in range(count):
        own = values.copy()
        own[1 + place] = -0.5
        assert LARGEST(own, 1, count) == -0.5
    assert LARGEST(values, 1, count) == values[1:-1].max()
