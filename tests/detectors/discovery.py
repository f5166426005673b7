"""Finds every estimator of the package by itself, so that a new detector is tested before its author writes a test."""

from __future__ import annotations

import inspect

import gditd
from gditd import detectors

DETECTORS = [
    found for _, found in sorted(vars(detectors).items()) if inspect.isclass(found) and not inspect.isabstract(found)
]
ESTIMATORS = [gditd.GDITDClassifier, *DETECTORS]


def quick(estimator_class, **settings):
    """An estimator that trains in a moment, for tests that do not look at how well it detects."""
    names = inspect.signature(estimator_class).parameters
    small = {"max_epochs": 8, "n_estimators": 20, "random_state": 0}
    return estimator_class(**{name: value for name, value in small.items() if name in names} | settings)
