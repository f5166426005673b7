"""From p-values to verdicts."""

import numpy as np
import pytest

from gditd.calibration import OOD, ClassCalibrator, decide, false_discovery, sign_rule, smallest_alpha, too_few


def test_decide_takes_the_best_of_the_possible_classes():
    p = [[0.01, 0.04, 0.02], [0.01, 0.3, 0.2], [0.05, 0.01, 0.01], [0.9, 0.9, 0.9]]
    scores = [[9.0, 1.0, 1.0], [9.0, 1.0, 2.0], [0.0, 5.0, 5.0], [1.0, 3.0, 3.0]]
    assert decide(p, scores, 0.05).tolist() == [OOD, 2, 0, 1]
    assert decide(p, scores, 0.01).tolist() == [0, 0, 1, 1]


def test_sign_rule_is_the_papers():
    assert sign_rule([[-1.0, -0.1], [-1.0, 0.0], [2.0, 1.0], [0.5, 1.0]]).tolist() == [OOD, 1, 0, 1]


@pytest.mark.parametrize("n", [0, 1, 9, 18, 19, 20, 99])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1, 0.3])
def test_too_few_says_exactly_when_nothing_can_be_rejected(n, alpha):
    calibrator = ClassCalibrator.fit(np.zeros((n, 1)), np.zeros(n, dtype=int))
    strangest = calibrator.p_values([[np.inf]])
    assert smallest_alpha(calibrator.counts) == strangest[0]
    assert too_few(calibrator.counts, alpha).item() == (decide(strangest, [[0.0]], alpha).item() != OOD)


def test_false_discovery_uses_the_largest_p_of_a_row():
    p = [[0.01, 0.001], [0.002, 0.04], [0.03, 0.03], [0.5, 0.9]]
    adjusted, flags = false_discovery(p, 0.05)
    np.testing.assert_allclose(adjusted, [0.04, 0.16 / 3, 0.16 / 3, 0.9])
    assert flags.tolist() == [True, False, False, False]
    harmonic = 1 + 1 / 2 + 1 / 3 + 1 / 4
    np.testing.assert_allclose(false_discovery(p, 0.05, "by")[0], np.minimum(1, adjusted * harmonic))
    assert [a.shape for a in false_discovery(np.empty((0, 2)), 0.05)] == [(0,), (0,)]


def test_false_discovery_rate_holds_for_split_calibration():
    rng, alpha, shares = np.random.default_rng(2), 0.2, []
    centre = np.array([0.0, 6.0])
    for _ in range(400):
        y, y_new = np.repeat([0, 1], [60, 400]), rng.integers(0, 2, 60)
        known = np.concatenate([rng.normal(centre[y_new]), rng.normal(12.0, 1.0, 20)])
        cal = np.abs(rng.normal(centre[y])[:, None] - centre)
        p = ClassCalibrator.fit(cal, y).p_values(np.abs(known[:, None] - centre))
        flags = false_discovery(p, alpha)[1]
        assert flags[60:].sum() > 0
        shares.append(flags[:60].sum() / flags.sum())
    assert np.mean(shares) <= alpha + 4 * np.std(shares) / 20
