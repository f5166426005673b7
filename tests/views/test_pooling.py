"""Zeta and votes pooled into probabilities one can bet on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from gditd.temperature import expected_calibration_error
from gditd.views.pooling import Pool


@pytest.fixture
def rows():
    """Classes, an overconfident zeta, and votes that follow the truth half of the time."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 4_000)
    zeta = 20 * (np.eye(3)[codes] + rng.normal(size=(4_000, 3)))
    votes = softmax(2 * np.eye(3)[codes] + rng.normal(size=(4_000, 3)), axis=1)
    return zeta, votes, codes


def test_pooled_probabilities_are_calibrated_and_better_than_either_side(rows):
    zeta, votes, codes = rows
    pool = Pool.fit(zeta[:1_000], votes[:1_000], codes[:1_000])
    probabilities = np.exp(pool.log_probabilities(zeta, votes))[1_000:]
    assert expected_calibration_error(probabilities, codes[1_000:]) < 0.03
    assert expected_calibration_error(softmax(zeta, axis=1)[1_000:], codes[1_000:]) > 0.2
    right = (probabilities.argmax(axis=1) == codes[1_000:]).mean()
    assert right > (zeta[1_000:].argmax(axis=1) == codes[1_000:]).mean()
    assert right > (votes[1_000:].argmax(axis=1) == codes[1_000:]).mean()


def test_perfect_separation_leaves_finite_weights():
    codes = np.arange(30) % 2
    pool = Pool.fit(1e4 * np.eye(2)[codes], np.eye(2)[codes], codes)
    assert np.isfinite([pool.of_zeta, pool.of_votes]).all()
    assert np.isfinite(pool.log_probabilities(np.array([[-1e30, 0.0]]), np.array([[0.0, 1.0]]))).all()


def test_without_rows_or_with_one_class_it_has_defaults():
    assert Pool.fit(np.empty((0, 3)), np.empty((0, 3)), np.empty(0, dtype=np.int64)) == Pool()
    assert Pool.fit(np.ones((5, 1)), np.ones((5, 1)), np.zeros(5, dtype=np.int64)) == Pool()
