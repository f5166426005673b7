"""What is promised, and how it was proven."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from gditd.calibration import ClassCalibrator
from tests.calibration.cases import ALPHAS, FOLDS, balanced, one_class


def test_split_promises_alpha():
    assert one_class(np.arange(33.0)).promise(0.07).tolist() == [0.07]


@pytest.mark.parametrize(
    ("n", "alpha", "expected"),
    [
        (20, 0.05, 1 / 5),  # rejected only if ahead of all four rows of every fold
        (50, 0.05, 5 / 44),  # rejected only if ahead of all ten rows of at least four folds out of five
        (10, 0.05, 0.05),  # never rejected
    ],
)
def test_cross_promise_by_hand(n, alpha, expected):
    assert balanced(n).promise(alpha).item() == pytest.approx(expected)


@pytest.mark.parametrize("n", [20, 50, 500, 50_000])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_cross_promise_is_within_the_published_bound_and_tends_to_two_alpha(n, alpha):
    promise = balanced(n).promise(alpha).item()
    assert alpha <= promise <= min(1.0, 2 * alpha + 2 * (1 - alpha) * (FOLDS - 1) / (n + FOLDS))
    if n == 50_000:
        assert promise == pytest.approx(2 * alpha, abs=1e-3)


@pytest.mark.parametrize("sizes", [(3, 3), (2, 5), (7, 2), (2, 2, 2), (1, 3, 4), (2, 0, 4), (2, 2, 3, 1)])
@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.3, 0.45])
def test_no_dependence_between_folds_breaks_the_cross_promise(sizes, alpha):
    """The worst joint law of the fold-wise ranks, each of them uniform, found by linear programming."""
    outcomes = [range(1, n + 2) for n in sizes]
    joint = list(itertools.product(*outcomes))
    rejected = [(sum(ranks) - len(sizes) + 1) / (sum(sizes) + 1) <= alpha for ranks in joint]
    marginals = [(f, r) for f, ranks in enumerate(outcomes) for r in ranks]
    worst = linprog(
        -np.array(rejected, dtype=float),
        A_eq=[[ranks[f] == r for ranks in joint] for f, r in marginals],
        b_eq=[1 / (sizes[f] + 1) for f, _ in marginals],
    )
    folds = np.repeat(np.arange(len(sizes)), sizes)
    # The empty fold of a class holds a row of another.
    y = np.append(np.zeros(len(folds), dtype=int), np.ones(len(sizes), dtype=int))
    calibrator = ClassCalibrator.fit(np.zeros((len(y), 2)), y, np.append(folds, np.arange(len(sizes))))
    assert worst.status == 0
    assert -worst.fun <= calibrator.promise(alpha)[0] + 1e-9
