"""Small estimators to save, and the rows they learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gditd import GDITDClassifier
from gditd.detectors import GDITD, ExtraTrees

N_FEATURES = 4


def rows(n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    codes = np.arange(30) % n_classes
    return 3 * random.normal(size=(n_classes, N_FEATURES))[codes] + random.normal(size=(30, N_FEATURES)), codes


def network_detector() -> GDITD:
    return GDITD(max_epochs=2, n_members=2, device="cpu", random_state=0)


def forest() -> ExtraTrees:
    return ExtraTrees(n_estimators=3, random_state=0)


def classifier() -> GDITDClassifier:
    return GDITDClassifier(preset="fast", max_epochs=2, device="cpu", random_state=0)


ESTIMATORS = pytest.mark.parametrize("make", [network_detector, forest, classifier])


def saved(estimator: Any, folder: Path) -> Path:
    estimator.save(folder / "model.gditd")
    return folder / "model.gditd"


def assert_same_answers(first: Any, second: Any, x: Any) -> None:
    for method in ("predict", "ood_score", "class_scores", "predict_proba"):
        expected, found = getattr(first, method)(x), getattr(second, method)(x)
        assert found.dtype == expected.dtype, method
        assert np.array_equal(found, expected), method
