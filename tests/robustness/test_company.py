"""A row's verdict does not depend on the company it comes in, nor on how many threads look at it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_digits

from gditd import GDITDClassifier
from tests.robustness.torture import TORTURE

N_ROWS = 60_000 if TORTURE else 3_000
SETTINGS = [
    {"preset": "default", "max_epochs": 5},
    {"preset": "fast", "max_epochs": 5},
    {"preset": "paper", "max_epochs": 60},
    {"calibration": "cross", "max_epochs": 20},
]


@pytest.fixture(scope="module", params=SETTINGS, ids=lambda own: next(iter(own.values())))
def model(request: pytest.FixtureRequest) -> GDITDClassifier:
    x, y = load_digits(return_X_y=True)
    known = y < 7
    return GDITDClassifier(**request.param, random_state=0).fit(x[known], y[known])


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    """Known digits, unknown ones and mixtures of both: many of them lie near the border."""
    x, _ = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    share = rng.random((N_ROWS, 1))
    mixed: np.ndarray = (
        share * x[rng.integers(len(x), size=N_ROWS)] + (1 - share) * x[rng.integers(len(x), size=N_ROWS)]
    )
    return mixed


def assert_same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    assert expected["verdict"].eq("OOD").any()
    assert not expected["verdict"].eq("OOD").all()
    np.testing.assert_allclose(found["ood_score"], expected["ood_score"], rtol=1e-5, atol=1e-6)
    for column in ("verdict", "known_class"):
        assert found[column].tolist() == expected[column].tolist()


@pytest.mark.parametrize("size", [1, 7, 500, 1_024, 2_500])
def test_batches_of_any_size(model: GDITDClassifier, rows: np.ndarray, size: int) -> None:
    some = rows if size > 7 else rows[:: 30 // size]
    parts = [model.verdict(some[start : start + size]) for start in range(0, len(some), size)]
    assert_same(pd.concat(parts), model.verdict(some))


def test_any_order(model: GDITDClassifier, rows: np.ndarray) -> None:
    order = np.random.default_rng(1).permutation(len(rows))
    found = model.verdict(rows[order])
    assert_same(found.iloc[np.argsort(order)], model.verdict(rows))


@contextmanager
def threads(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def test_any_number_of_threads(model: GDITDClassifier, rows: np.ndarray) -> None:
    with threads(1):
        alone = model.verdict(rows)
    with threads(4):
        assert_same(model.verdict(rows), alone)
