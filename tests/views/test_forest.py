"""Forests as plain arrays, and the made-up rows that one of them learns to tell apart."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.ensemble import ExtraTreesClassifier

from gditd.views.mixing import mixed_rows
from gditd.views.trees import PackedForest, rounded_down


@pytest.fixture(scope="module")
def grown():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 7)).astype(np.float32)
    codes = (rows[:, 0] > 0).astype(int) + (rows[:, 1] * rows[:, 2] > 0.5)
    return ExtraTreesClassifier(20, random_state=0).fit(rows, codes)


@pytest.fixture(scope="module")
def packed(grown):
    return PackedForest.of([estimator.tree_ for estimator in grown.estimators_], 7)


def test_a_packed_forest_votes_as_scikit_learn_does(grown, packed):
    rows = np.random.default_rng(1).normal(size=(10_000, 7)).astype(np.float32)
    np.testing.assert_allclose(packed.class_shares(rows), grown.predict_proba(rows), atol=1e-6)


def test_a_packed_forest_comes_back_from_its_state(packed):
    rows = np.random.default_rng(1).normal(size=(50, 7)).astype(np.float32)
    again = PackedForest.from_state(packed.state())
    np.testing.assert_array_equal(again.class_shares(rows), packed.class_shares(rows))


@pytest.mark.parametrize(("name", "change"), [("right", 10**6), ("node_counts", 1), ("feature", 99), ("left", 10**6)])
def test_a_damaged_forest_is_refused(packed, name, change):
    state = packed.state()
    state[name] = state[name] + torch.tensor(change, dtype=state[name].dtype)
    with pytest.raises(ValueError, match=r"tree|forest"):
        PackedForest.from_state(state).class_shares(np.zeros((2, 7), dtype=np.float32))


def test_thresholds_are_rounded_so_that_no_row_turns_the_other_way():
    thresholds = np.random.default_rng(0).normal(size=10_000)
    rounded = rounded_down(thresholds)
    assert (rounded.astype(np.float64) <= thresholds).all()
    assert (np.nextafter(rounded, np.float32(np.inf)).astype(np.float64) > thresholds).all()


def test_mixed_rows_take_whole_columns_from_two_classes():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [50, 30, 3])
    rows = np.repeat(codes[:, None] * 10.0 + np.arange(83)[:, None] / 100, 6, axis=1).astype(np.float32)
    owners = np.array([0, 0, 1, 2, 2, 2])
    mixed = mixed_rows(rows, codes, 500, owners=owners, rng=rng)
    of_class = np.floor(mixed / 10)
    assert (of_class[:, 0] == of_class[:, 1]).all()
    assert (np.ptp(of_class[:, 3:], axis=1) == 0).all()
    assert max(len(np.unique(row)) for row in of_class) == 2
    # Rare classes take part: a third of the rows would not be mixed with class 2 if rows were drawn by their number.
    assert (of_class == 2).any(axis=1).mean() > 0.2


def test_one_class_alone_is_mixed_with_itself():
    rows = np.arange(40, dtype=np.float32).reshape(20, 2)
    mixed = mixed_rows(rows, np.zeros(20, dtype=np.int64), 30, owners=np.arange(2), rng=np.random.default_rng(0))
    assert np.isin(mixed[:, 0], rows[:, 0]).all()
    assert (mixed[:, 1] - mixed[:, 0] != 1).any()
