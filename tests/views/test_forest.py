"""Forests as plain arrays, and the made-up rows that one of them learns to tell apart."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from sklearn.ensemble import ExtraTreesClassifier

from gditd.views.mixing import mixed_rows
from gditd.views.trees import MOST_TREES, SHARE_STEPS, PackedForest, distinct, in_steps, rounded_down


def read_only(rows):
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


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
    np.testing.assert_allclose(packed.walked(rows)[0], grown.predict_proba(rows), atol=1e-6)


def test_a_packed_forest_comes_back_from_its_state(packed):
    rows = np.random.default_rng(1).normal(size=(50, 7)).astype(np.float32)
    again = PackedForest.from_state(packed.state())
    np.testing.assert_array_equal(again.walked(rows)[0], packed.walked(rows)[0])


def test_a_forest_followed_by_another_votes_as_both(packed):
    rows = np.random.default_rng(1).normal(size=(1_000, 7)).astype(np.float32)
    codes = (rows[:, 3] > 0).astype(int) + (rows[:, 4] > 1)
    other = ExtraTreesClassifier(10, random_state=1).fit(rows, codes)
    other = PackedForest.of([estimator.tree_ for estimator in other.estimators_], 7)
    both = PackedForest.from_state(packed.followed_by(other).state())
    np.testing.assert_allclose(both.walked(rows)[0], (2 * packed.walked(rows)[0] + other.walked(rows)[0]) / 3)


def test_it_adds_up_to_the_last_bit_what_scikit_learns_trees_find(grown, packed):
    rows = np.random.default_rng(2).normal(size=(2_500, 7)).astype(np.float32)
    sums = np.zeros((len(rows), 3))
    for estimator in grown.estimators_:
        sums += estimator.tree_.predict(rows).astype(np.float32)
    np.testing.assert_array_equal(packed.walked(rows)[0], sums / len(grown.estimators_))


def test_absurd_values_go_where_scikit_learn_sends_them(grown, packed):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(400, 7)).astype(np.float32)
    odd = rng.choice([np.inf, -np.inf, 3e38], size=rows.shape)
    rows = np.where(rng.random(rows.shape) < 0.3, odd, rows).astype(np.float32)
    sums = sum(estimator.tree_.predict(rows) for estimator in grown.estimators_)
    np.testing.assert_allclose(packed.walked(rows)[0], sums / len(grown.estimators_), atol=1e-6)


def test_what_is_not_a_number_lies_beyond_every_threshold(packed):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(400, 7)).astype(np.float32)
    odd = rng.random(rows.shape) < 0.3
    beyond, absent = np.where(odd, np.float32(np.inf), rows), np.where(odd, np.float32(np.nan), rows)
    np.testing.assert_array_equal(packed.walked(absent)[0], packed.walked(beyond)[0])


@pytest.mark.parametrize("n_rows", [0, 1, 15, 16, 17, 1_023, 1_040])
def test_votes_do_not_depend_on_a_rows_company(packed, n_rows):
    rows = np.random.default_rng(4).normal(size=(1_040, 7)).astype(np.float32)
    np.testing.assert_array_equal(packed.walked(rows[:n_rows])[0], packed.walked(rows)[0][:n_rows])


@pytest.mark.parametrize("rearranged", [np.asfortranarray, lambda rows: np.repeat(rows, 2, axis=1)[:, ::2], read_only])
def test_rows_may_lie_in_memory_in_any_way(packed, rearranged):
    rows = np.random.default_rng(5).normal(size=(40, 7)).astype(np.float32)
    np.testing.assert_array_equal(packed.walked(rearranged(rows))[0], packed.walked(rows)[0])


@pytest.fixture
def leaves_alone():
    grown = ExtraTreesClassifier(3, max_depth=1, min_samples_leaf=3, random_state=0).fit(np.eye(4), [0, 0, 0, 1])
    return PackedForest.of([estimator.tree_ for estimator in grown.estimators_], 4)


def test_a_tree_that_is_one_leaf_gives_its_shares_to_every_row(leaves_alone):
    assert leaves_alone.node_counts.tolist() == [1, 1, 1]
    rows = np.full((20, 4), np.nan, np.float32)
    np.testing.assert_array_equal(leaves_alone.walked(rows)[0], [[0.75, 0.25]] * 20)


def test_a_forest_of_no_features_is_refused(leaves_alone):
    state = leaves_alone.state()
    with pytest.raises(ValueError, match="forest"):
        PackedForest.from_state(state | {"n_features": torch.zeros_like(state["n_features"])})


@pytest.mark.parametrize("shape", [(5, 6), (5, 8), (7,), (2, 7, 1)])
def test_rows_of_another_width_are_refused(packed, shape):
    with pytest.raises(ValueError, match="7 features"):
        packed.walked(np.zeros(shape, dtype=np.float32))[0]


@pytest.mark.parametrize(("name", "change"), [("right", 10**6), ("node_counts", 1), ("feature", 99), ("left", 10**6)])
def test_a_damaged_forest_is_refused(packed, name, change):
    state = packed.state()
    state[name] = state[name] + torch.tensor(change, dtype=state[name].dtype)
    with pytest.raises(ValueError, match=r"tree|forest"):
        PackedForest.from_state(state)


def changed(array, place, value):
    array = array.clone()
    array[place] = value
    return array


# The first node is the first tree's root; its right child comes later.
@pytest.mark.parametrize(
    ("name", "damage"),
    [
        pytest.param("left", lambda left: changed(left, 0, 0), id="a circle of one"),
        pytest.param("right", lambda right: changed(right, 0, 0), id="another circle of one"),
        pytest.param("left", lambda left: changed(left, left[0], 0), id="back to the root"),
        pytest.param("left", lambda left: changed(left, 0, -2), id="before the first node"),
        pytest.param("right", lambda right: changed(right, 0, 2**31 - 1), id="far behind the last node"),
        pytest.param("feature", lambda feature: changed(feature, 0, -1), id="before the first feature"),
        pytest.param("feature", lambda feature: changed(feature, 0, 7), id="behind the last feature"),
        pytest.param("right", lambda right: right[:-1], id="a node's child is missing"),
        pytest.param("feature", lambda feature: feature[:-1], id="a node's feature is missing"),
        pytest.param("threshold", lambda threshold: threshold[:-1], id="a node's threshold is missing"),
        pytest.param("threshold", lambda threshold: threshold[:, None], id="two dimensions"),
        pytest.param("threshold", lambda threshold: threshold.double(), id="another type"),
        pytest.param("left", lambda left: left.long(), id="wider numbers"),
        pytest.param("shares", lambda shares: shares[:-1], id="a leaf's shares are missing"),
        pytest.param("shares", lambda shares: shares[:, 0], id="shares of one dimension"),
        pytest.param("node_counts", lambda counts: counts[:0], id="no trees"),
        pytest.param("node_counts", lambda counts: counts[None], id="counts of two dimensions"),
        pytest.param("node_counts", lambda counts: changed(counts, 0, 0), id="a tree without nodes"),
        pytest.param(
            "node_counts",
            lambda counts: torch.cat([counts, torch.tensor([2**62] * 4)]),
            id="counts that overflow to the right sum",
        ),
    ],
)
def test_a_forest_that_a_walk_could_leave_is_refused(packed, name, damage):
    state = packed.state()
    with pytest.raises(ValueError, match=r"tree|forest"):
        PackedForest.from_state(state | {name: damage(state[name])})


@pytest.mark.parametrize("share", [-1, SHARE_STEPS + 1])
def test_shares_beyond_0_and_1_are_refused(packed, share):
    state = packed.state()
    with pytest.raises(ValueError, match="share"):
        PackedForest.from_state(state | {"shares": changed(state["shares"], (0, 0), share)})


def test_more_trees_than_a_sum_has_room_for_are_refused(leaves_alone):
    state = leaves_alone.state()
    many = {
        name: state[name][:1].repeat(MOST_TREES + 1)
        for name in ("node_counts", "left", "right", "feature", "threshold")
    }
    with pytest.raises(ValueError, match=r"at most 1,?024 trees"):
        PackedForest.from_state(state | many)


def test_leaves_that_say_the_same_share_an_entry():
    shares = in_steps(np.array([[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1], [1, 0, 0], [0.25, 0.75, 0], [0.5, 0.5, 0]]))
    entries, numbers = distinct(shares)
    np.testing.assert_array_equal(entries[numbers], shares)
    assert len(entries) == 3 + 2  # one for each class, and the mixed ones


def test_a_leaf_may_say_anything_of_features(packed):
    rows = np.random.default_rng(6).normal(size=(50, 7)).astype(np.float32)
    state = packed.state()
    odd = torch.where(state["left"] == -1, 2**31 - 1, state["feature"]).to(torch.int32)
    again = PackedForest.from_state(state | {"feature": odd})
    np.testing.assert_array_equal(again.walked(rows)[0], packed.walked(rows)[0])


def test_only_a_walk_loads_the_compiler():
    command = "import sys, gditd.classifier; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", command], check=True)


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
