import numba
import numpy as np
import pytest

from gditd.views.compiling import compiled, filled, given
from gditd.views.lanes import LANES, add_lanes, in_lanes


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
