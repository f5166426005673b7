"""Rows known to be of no class are learned only if that helps to catch others like them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gditd import GDITDClassifier
from gditd.tables import TableError
from gditd.views.known_unknowns import FEWEST_KNOWN, FEWEST_ROWS, worth_learning
from tests.raw_tables import small_backbone

ROWS = torch.arange(20.0)[:, None]


def ranks_that_gain(gains):
    """Ranks of 0.5, and by so much more for each row once others were learned."""

    def ranks(learned, rows):
        own = rows[:, 0].long().numpy()
        return 0.5 + (0.0 if learned is None else np.asarray(gains)[own])

    return ranks


def test_what_makes_the_other_half_stranger_is_worth_learning():
    assert worth_learning(ROWS, ranks_that_gain(np.full(20, 0.1)), FEWEST_KNOWN)
    assert worth_learning(ROWS, ranks_that_gain(np.tile([0.2, -0.05], 10)), FEWEST_KNOWN)


@pytest.mark.parametrize("gain", [0.0, -0.1])
def test_what_does_not_is_not(gain):
    assert not worth_learning(ROWS, ranks_that_gain(np.full(20, gain)), FEWEST_KNOWN)


def test_what_may_be_chance_is_not():
    assert not worth_learning(ROWS, ranks_that_gain(np.tile([0.3, -0.28], 10)), FEWEST_KNOWN)


def test_each_half_teaches_once_and_is_never_told_of_itself():
    seen = []

    def ranks(learned, rows):
        if learned is not None:
            seen.append((set(learned[:, 0].tolist()), set(rows[:, 0].tolist())))
        return np.zeros(len(rows))

    worth_learning(ROWS, ranks, FEWEST_KNOWN)
    assert [len(taught) for taught, _ in seen] == [10, 10]
    assert all(taught.isdisjoint(told) for taught, told in seen)
    assert seen[0] == seen[1][::-1]


def test_a_handful_of_rows_is_too_few_to_tell():
    assert not worth_learning(ROWS[: FEWEST_ROWS - 1], ranks_that_gain(np.ones(20)), FEWEST_KNOWN)


def test_a_handful_of_known_rows_is_too_few_to_tell():
    assert not worth_learning(ROWS, ranks_that_gain(np.ones(20)), FEWEST_KNOWN - 1)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 80)
    return rng.normal(size=(240, 4)) + 5.0 * y[:, None], y


def fitted(table, **ood):
    return GDITDClassifier(backbone=small_backbone, max_epochs=5, random_state=0).fit(*table, **ood)


def test_what_is_wrong_with_them_is_said_before_training(table):
    def train(progress):
        raise AssertionError("training has begun")

    model = GDITDClassifier(backbone=small_backbone, progress=train)
    with pytest.raises(TableError, match=r'in the rows given as ood: column "x1", row 2: "hello" is not a number'):
        model.fit(*table, ood=np.array([[1, 2, 3, 4], [1, "hello", 3, 4]], dtype=object))


def test_a_table_too_small_to_learn_them_says_so():
    rows = np.random.default_rng(0).normal(size=(4, 3))
    model = GDITDClassifier(backbone=small_backbone, max_epochs=1, random_state=0)
    with pytest.warns(UserWarning, match="rows given as ood were not learned: the table has too few rows"):
        model.fit(rows, [0, 0, 1, 1], ood=rows + 9)


def test_without_a_gain_the_model_is_the_same_to_the_bit_and_says_so(table):
    """Rows far from everything are caught anyway."""
    far = np.random.default_rng(1).normal(size=(12, 4)) + np.array([90.0, -90.0, 90.0, -90.0])
    with pytest.warns(UserWarning, match="rows given as OOD were not learned"):
        model = fitted(table, ood=far)
    np.testing.assert_array_equal(model.ood_score(table[0]), fitted(table).ood_score(table[0]))
