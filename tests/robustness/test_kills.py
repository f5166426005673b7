"""Commands that are killed leave nothing broken behind; `make torture` kills each of them fifty times."""

import pytest

from tests.robustness.kills import SCENARIOS, survived
from tests.robustness.torture import TORTURE

TRIES = 4  # on a machine whose load changes, a kill may come when the command is done already


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_killed_commands(scenario):
    for seed in range(1, TRIES + 1):
        tally = survived(scenario, kills=50 if TORTURE else 1, seed=seed)
        assert not tally.problems, tally
        if tally.at_work:
            return
    pytest.fail(f"none of {TRIES} kills came while the command worked")
