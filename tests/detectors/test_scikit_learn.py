"""scikit-learn's own checks, on every estimator with its default settings."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.detectors.discovery import ESTIMATORS

CHECKS = [
    pytest.param(estimator, check, id=f"{type(estimator).__name__}-{check.func.__name__}-{number}")
    for estimator_class in ESTIMATORS
    for number, (estimator, check) in enumerate(estimator_checks_generator(estimator_class(), legacy=True))
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_check(estimator, check):
    check(estimator)
