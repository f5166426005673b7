import signal
import time

import numba
import numpy as np
import pytest

from gditd.views import entropy, nearest, questions, walk
from gditd.views.compiling import compiled, filled

LOOPS = (
    walk.walk,
    walk.find_ranges,
    nearest.two_nearest,
    entropy.entropies,
    questions.look_up,
    questions.answer_all,
    questions.cut,
    questions.best_question,
)


def twice(x):
    return 2 * x


def count_up(counts, turns):
    for turn in range(turns):
        counts[turn % len(counts)] += turn


def test_what_cannot_be_kept_for_the_next_process_is_compiled_all_the_same():
    found = {}
    exec(compile("def double(x):\n    return 2 * x", "no such file", "exec"), found)
    with pytest.raises(RuntimeError):
        numba.njit(cache=True)(found["double"])
    assert compiled(found["double"], numba.int64, gives=numba.int64)(21) == 42


def test_a_full_disk_does_not_keep_the_walk_from_being_compiled(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(numba.core.caching.Cache, "save_overload", full)
    assert compiled(twice, numba.int64, gives=numba.int64)(21) == 42


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that interrupts")
def test_ctrl_c_in_a_compiled_loop_is_ctrl_c():
    counting = compiled(count_up, filled(numba.int64, 1), numba.int64)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(10):
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            with pytest.raises(KeyboardInterrupt):
                count_for_a_while(counting)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def count_for_a_while(counting):
    counts, start = np.zeros(1000, dtype=np.int64), time.monotonic()
    while time.monotonic() < start + 10:
        counting(counts, 5_000_000)


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_no_compiled_loop_returns_an_array(loop):
    (signature,) = loop.nopython_signatures
    assert signature.return_type == numba.void or isinstance(signature.return_type, numba.types.Integer)
