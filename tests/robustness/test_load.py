"""The service under load and overload; `make torture` goes on for ten minutes."""

from __future__ import annotations

from tests.robustness.load import loaded
from tests.robustness.torture import TORTURE


def test_load_and_overload() -> None:
    tally = loaded(600, 60, seed=1) if TORTURE else loaded(3, 1, seed=1)
    assert not tally.problems, tally
