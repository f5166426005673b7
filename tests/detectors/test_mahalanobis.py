"""What the Mahalanobis detector is made of."""

import numpy as np

from gditd.detectors.mahalanobis import class_gaussians


def embedding(n=400, d=6, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % 2
    spread = np.array([3.0, 1.0, 1.0, 1.0, 1e-3, 0.0])  # one narrow direction, and one without any spread
    return rng.standard_normal((n, d)) * spread + 5.0 * codes[:, None], codes


def distances(rows, means, whitening):
    white, centers = rows @ whitening.numpy(), (means @ whitening).numpy()
    return np.square(white[:, None] - centers).sum(axis=2)


def test_distances_are_mahalanobis():
    rows, codes = embedding()
    means, whitening = class_gaussians(rows, codes, 2)
    centred = rows - means.numpy()[codes]
    inverse = np.linalg.inv((centred.T @ centred / len(rows))[:5, :5])
    expected = np.einsum("ij,jk,ik->i", centred[:, :5], inverse, centred[:, :5])
    own = distances(rows, means, whitening)[np.arange(len(rows)), codes]
    np.testing.assert_allclose(own, expected, rtol=1e-6)


def test_a_narrow_direction_counts_and_one_without_spread_does_not():
    rows, codes = embedding()
    means, whitening = class_gaussians(rows, codes, 2)
    usual = np.quantile(distances(rows, means, whitening).min(axis=1), 0.99)
    off_narrow, off_flat = rows[:1].copy(), rows[:1].copy()
    off_narrow[0, 4] += 0.02  # twenty times its spread, and tiny beside the others
    off_flat[0, 5] += 0.02
    assert distances(off_narrow, means, whitening).min() > 10 * usual
    assert distances(off_flat, means, whitening).min() < 2 * usual
