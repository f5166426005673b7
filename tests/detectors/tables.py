"""Small generated tables."""

from __future__ import annotations

import numpy as np


def blobs(counts, *, n_features=6, spread=1.0, distance=4.0, seed=0):
    """One Gaussian cluster per class, (rows, labels); the centres depend on the number of classes alone."""
    centers = np.random.default_rng(99).normal(size=(len(counts), n_features)) * distance
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(counts)), counts)
    return centers[y] + spread * rng.normal(size=(len(y), n_features)), y


def unseen_kind_table():
    """Training rows of four imbalanced classes, new known rows, and rows of a fifth kind in their midst.

    The fifth kind is far from every class and between them all, so that detectors of every sort can see it: those
    that measure distance and those that measure doubt.
    """
    rng = np.random.default_rng(7)
    counts = np.array([400, 200, 80, 40])
    centers = np.zeros((5, 10))
    centers[np.arange(4), np.arange(4)] = 6.0
    centers[4, :6] = [1.5, 1.5, 1.5, 1.5, 3.0, 3.0]

    def draw(label, n):
        return centers[label] + rng.normal(size=(n, 10))

    train = np.concatenate([draw(label, n) for label, n in enumerate(counts)])
    known = np.concatenate([draw(label, 100) for label in range(4)])
    return train, np.repeat(np.arange(4), counts), known, np.repeat(np.arange(4), 100), draw(4, 300)
