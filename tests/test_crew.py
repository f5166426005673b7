"""Real processes; what they run is small, so that each starts in a moment."""

import itertools
import os
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from gditd.crew import AHEAD, WINDOW, Crew, HelperError


class OddNumberError(ValueError):
    pass


class StubbornError(Exception):
    """Cannot be unpickled."""

    def __init__(self, one, two):
        super().__init__(one)


def square(number):
    return number * number, os.getpid()


def slow_square(number):
    time.sleep(0.02)
    return square(number)


def start(work):
    return work


def broken_start():
    raise OSError("no desk to work at")


def refuse(numbers, error, number):
    if number in numbers:
        raise error
    return square(number)


def be_stubborn(number):
    raise StubbornError("stubborn", number)


def die(number):
    os.kill(os.getpid(), signal.SIGKILL)


def endless(_):
    time.sleep(600)


def wait_for_helpers(crew):
    while not all(helper._ready.done() for helper in crew._helpers):
        time.sleep(0.01)


def crew_of(here, there, helpers=1, **settings):
    """A crew whose own process waits for the helpers before its first task, so that they get their share."""

    def patient(number):
        wait_for_helpers(crew)
        return here(number)

    crew = Crew(patient, partial(start, there), helpers=helpers, **settings)
    return crew


@pytest.mark.parametrize("helpers", [1, 3])
def test_results_come_in_order_from_several_processes(helpers):
    with crew_of(slow_square, slow_square, helpers) as crew:
        found = list(crew.results(iter(range(60))))
    assert [result for result, _ in found] == [number**2 for number in range(60)]
    assert os.getpid() in {pid for _, pid in found}
    assert len({pid for _, pid in found}) > 1


def test_no_helper_is_started_without_need():
    with crew_of(square, square, 0) as crew:
        assert {pid for _, pid in crew.results(iter(range(5)))} == {os.getpid()}
    with crew_of(square, square, 2, worth=lambda: False) as crew:
        assert {pid for _, pid in crew.results(iter(range(5)))} == {os.getpid()}
        assert crew._helpers == []


def test_few_tasks_are_under_way_at_a_time():
    taken = 0

    def tasks():
        nonlocal taken
        for number in range(200):
            taken = number
            yield number

    with crew_of(slow_square, slow_square) as crew:
        for done, _ in enumerate(crew.results(tasks())):
            assert taken - done <= 2 * WINDOW
    assert AHEAD <= WINDOW


@pytest.mark.parametrize("at_fault", [(0,), (1,), (4,), (30,), (31, 33)])
def test_the_first_error_in_order_is_raised_and_what_comes_before_it_is_done(at_fault):
    work = partial(refuse, at_fault, OddNumberError("odd"))
    done = []
    with crew_of(work, work) as crew, pytest.raises(OddNumberError, match="odd"):
        done.extend(crew.results(iter(range(60))))
    assert [result for result, _ in done] == [number**2 for number in range(at_fault[0])]


def test_an_error_of_a_helper_says_where_it_arose():
    there = partial(refuse, range(100), ZeroDivisionError("there"))
    with crew_of(square, there) as crew, pytest.raises(ZeroDivisionError, match="there") as caught:
        list(crew.results(iter(range(60))))
    assert "in refuse" in caught.value.__notes__[0]


def test_an_error_that_cannot_be_sent_is_told_in_words():
    with crew_of(square, be_stubborn) as crew, pytest.raises(RuntimeError, match="StubbornError: stubborn"):
        list(crew.results(iter(range(60))))


def test_an_error_in_reading_comes_after_what_was_read():
    def tasks():
        yield from range(7)
        raise OddNumberError("cannot be read")

    done = []
    with crew_of(square, square) as crew, pytest.raises(OddNumberError, match="cannot be read"):
        done.extend(crew.results(tasks()))
    assert [result for result, _ in done] == [number**2 for number in range(7)]


def test_a_helper_that_is_killed_is_an_error_with_a_cure():
    with crew_of(square, die) as crew, pytest.raises(HelperError, match="--workers 1"):
        list(crew.results(iter(range(60))))


def test_a_helper_that_cannot_start():
    with Crew(slow_square, broken_start, helpers=1) as crew, pytest.raises(OSError, match="no desk"):
        list(crew.results(itertools.count()))


def test_helpers_are_gone_at_the_end_whatever_they_do():
    with crew_of(square, endless) as crew:
        results = crew.results(iter(range(60)))
        next(results)
        processes = [helper._process for helper in crew._helpers]
        pids = [process.pid for process in processes]
        started = time.monotonic()
    assert time.monotonic() - started < 2
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


PARENT = """
import os, sys
from functools import partial
from gditd.crew import Crew
from tests.test_crew import endless, start, wait_for_helpers

def here(number):
    wait_for_helpers(crew)
    print(crew._helpers[0]._process.pid, flush=True)
    endless(number)

if __name__ == "__main__":
    with Crew(here, partial(start, endless), helpers=1) as crew:
        list(crew.results(iter(range(60))))
"""


def test_helpers_do_not_outlive_a_parent_that_was_killed(tmp_path):
    (tmp_path / "parent.py").write_text(PARENT)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    parent = subprocess.Popen([sys.executable, tmp_path / "parent.py"], stdout=subprocess.PIPE, env=environment)
    helper = int(parent.stdout.readline())
    os.kill(helper, 0)
    parent.kill()
    parent.communicate()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(helper, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    pytest.fail("the helper lives on")
