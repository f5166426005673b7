from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from gditd.temperature import expected_calibration_error, fit_temperature
from tests.raw_tables import quick


def rows_of_known_doubt(n, sharpness, seed=0):
    """Scores `sharpness` times too large for labels drawn from softmax(scores / sharpness)."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, 3)) * 2
    gumbel = rng.gumbel(size=scores.shape)
    return scores * sharpness, (scores + gumbel).argmax(axis=1)


@pytest.mark.parametrize("sharpness", [0.01, 0.3, 1.0, 5.0, 1000.0])
def test_the_true_temperature_is_found(sharpness):
    scores, codes = rows_of_known_doubt(20_000, sharpness)
    assert fit_temperature(scores, codes) == pytest.approx(sharpness, rel=0.05)


def test_scores_times_ten_have_temperature_times_ten():
    scores, codes = rows_of_known_doubt(500, 1.0)
    assert fit_temperature(10 * scores, codes) == pytest.approx(10 * fit_temperature(scores, codes), rel=1e-3)


def test_more_wrong_rows_raise_the_temperature():
    scores, codes = rows_of_known_doubt(2000, 1.0)
    temperatures = []
    for wrong in (0, 200, 600):
        labels = codes.copy()
        labels[:wrong] = scores[:wrong].argmin(axis=1)
        temperatures.append(fit_temperature(scores, labels))
    assert temperatures == sorted(set(temperatures))


def test_perfect_separation_stays_finite():
    codes = np.arange(30) % 3
    temperature = fit_temperature(50.0 * np.eye(3)[codes], codes)
    assert 0.5 <= temperature < 50
    assert softmax(50.0 * np.eye(3)[codes] / temperature, axis=1).max(axis=1).min() > 0.99


def test_all_wrong_stays_finite():
    codes = np.arange(30) % 3
    assert np.isfinite(fit_temperature(np.eye(3)[(codes + 1) % 3], codes))


@pytest.mark.parametrize("scores", [np.zeros((5, 1)), np.zeros((0, 3)), np.arange(4.0)[:, None]])
def test_with_nothing_to_learn_the_temperature_is_one(scores):
    assert fit_temperature(scores, np.zeros(len(scores), dtype=int)) == 1.0


def test_equal_scores_give_a_finite_temperature():
    assert np.isfinite(fit_temperature(np.ones((6, 2)), np.arange(6) % 2))


def test_calibration_error_by_hand():
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.6, 0.4]])
    codes = np.array([0, 1, 0, 0])
    # The two rows at 0.6 are right, one of the two at 0.9 is.
    assert expected_calibration_error(probabilities, codes, n_bins=2) == pytest.approx((0.4 + 0.4) / 2)
    assert expected_calibration_error(probabilities, codes, n_bins=1) == pytest.approx(0.0)
    assert expected_calibration_error(probabilities[:1], codes[:1]) == pytest.approx(0.1)


@pytest.mark.parametrize("settings", [{"views": "zeta"}, {"calibration": "cross", "n_members": 5}])
def test_probabilities_of_an_overconfident_classifier_are_calibrated(settings):
    rng = np.random.default_rng(0)

    def draw(n):
        y = rng.integers(0, 3, n)
        return 1.5 * np.eye(3, 30)[y] + rng.normal(size=(n, 30)), y

    model = quick(max_epochs=100, batch_size=50, **settings).fit(*draw(400))
    new, labels = draw(4000)
    before = expected_calibration_error(softmax(model.class_scores(new), axis=1), labels)
    after = expected_calibration_error(model.predict_proba(new), labels)
    assert model.model_.temperature > 1.3
    assert after < 0.6 * before, (before, after)
    # The order of the classes is not touched.
    np.testing.assert_array_equal(model.predict_proba(new).argmax(axis=1), model.class_scores(new).argmax(axis=1))
