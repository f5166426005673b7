"""Commands that are killed leave nothing broken behind; `make torture` kills each of them fifty times."""

import pytest

from tests.robustness.kills import SCENARIOS, survived
from tests.robustness.torture import TORTURE


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_killed_commands(scenario):
    tally = survived(scenario, kills=50 if TORTURE else 1, seed=1)
    assert not tally.problems, tally
    assert tally.at_work
