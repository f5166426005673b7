"""Where in a forest's trees the known rows lie, and what it is worth to lie outside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from sklearn.ensemble import ExtraTreesClassifier

from gditd.views.ranges import DEEPEST, FEWEST_KNOWN, FULL_WORTH, NARROWEST, Ranges
from gditd.views.trees import PackedForest
from gditd.views.walk import BLOCK_VALUES, TOGETHER

N_RANGED = 6  # trees of a forest's that are looked at


def packed(forest: ExtraTreesClassifier) -> PackedForest:
    return PackedForest.of([estimator.tree_ for estimator in forest.estimators_], forest.n_features_in_)


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(600, 5)).astype(np.float32)


@pytest.fixture(scope="module")
def forest(rows):
    codes = (rows[:, 0] > 0).astype(int) + (rows[:, 1] * rows[:, 2] > 0.5)
    return ExtraTreesClassifier(10, random_state=0).fit(rows, codes)


@dataclass(frozen=True)
class Ranged:
    """A forest with ranges."""

    trees: PackedForest
    ranges: Ranges

    @property
    def packed(self):
        return self.ranges.packed, self.ranges.counts, self.ranges.depths(self.trees)

    def surprise(self, rows):
        return self.trees.walked(rows, self.packed)[1] / self.ranges.n_trees

    @property
    def depths(self):
        """How many nodes lie above each node."""
        depth = np.zeros(len(self.trees.left), dtype=int)
        first = self.trees.first_of_tree
        for node in np.flatnonzero(self.trees.left != -1):
            for child in (self.trees.left, self.trees.right):
                depth[first[node] + child[node]] = depth[node] + 1
        return depth


@pytest.fixture(scope="module")
def ranged(forest, rows):
    return Ranged(*Ranges.of(packed(forest), rows, N_RANGED))


def by_hand(forest, rows, new):
    """The same from scikit-learn's own trees, a row and a node at a time."""
    total = 0.0
    for tree in (estimator.tree_ for estimator in forest.estimators_[:N_RANGED]):
        came = tree.decision_path(rows).toarray().astype(bool)
        node, depth = 0, 0
        while tree.children_left[node] != -1 and came[:, node].sum() >= FEWEST_KNOWN and depth < DEEPEST:
            column = tree.feature[node]
            own = rows[came[:, node], column]
            outside = max(own.min() - new[column], new[column] - own.max(), 0.0)
            share = min(outside / max(FULL_WORTH * (own.max() - own.min()), NARROWEST), 1.0)
            total += np.log((len(own) + 1) / 2) * share
            node = (tree.children_left if new[column] <= tree.threshold[node] else tree.children_right)[node]
            depth += 1
    return total / N_RANGED


def test_a_row_gathers_what_the_nodes_on_its_way_say(forest, rows, ranged):
    new = 2.0 * np.random.default_rng(1).normal(size=(40, 5)).astype(np.float32)
    expected = [by_hand(forest, rows, one) for one in new]
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(ranged.surprise(new), expected, rtol=1e-4)


def test_rows_that_the_ranges_come_from_lie_inside(rows, ranged):
    assert (ranged.surprise(rows) == 0).all()


def test_further_outside_is_stranger_up_to_a_limit(ranged):
    along = np.outer([1.0, 3.0, 4.0, 40.0, 4000.0], np.ones(5)).astype(np.float32)
    found = ranged.surprise(along)
    assert found[0] < found[1] < found[2] <= found[3] == found[4]


def test_votes_may_be_certain_where_no_known_row_ever_was(forest, ranged):
    far = np.array([[30.0, -30.0, 30.0, 0.0, 0.0]], dtype=np.float32)
    near = np.array([[1.0, -1.0, 1.0, 0.0, 0.0]], dtype=np.float32)
    assert forest.predict_proba(far).max() >= forest.predict_proba(near).max() >= 0.9
    assert ranged.surprise(far)[0] > ranged.surprise(near)[0] + 3


def test_only_the_upper_nodes_of_the_first_trees_have_ranges(rows):
    codes = np.random.default_rng(0).integers(2, size=len(rows))
    forest = packed(ExtraTreesClassifier(N_RANGED + 5, random_state=0).fit(rows, codes))
    _, ranges = Ranges.of(forest, rows, N_RANGED)
    assert ranges.n_trees == N_RANGED
    assert (ranges.counts[:N_RANGED] > 0).all()
    assert (ranges.counts[N_RANGED:] == 0).all()
    assert len(ranges.known) == ranges.counts.sum() < forest.node_counts[:N_RANGED].sum() / 2
    assert (ranges.known >= FEWEST_KNOWN).all()


def test_votes_stay_the_same_and_come_with_the_surprise(forest, rows, ranged):
    votes = packed(forest).walked(rows)[0]
    np.testing.assert_array_equal(ranged.trees.walked(rows)[0], votes)
    np.testing.assert_array_equal(ranged.trees.walked(rows, ranged.packed)[0], votes)


def test_nodes_with_ranges_come_first_and_children_after_their_parents(ranged):
    trees, counts = ranged.trees, ranged.ranges.counts
    with_range = ranged.ranges.nodes_of(trees)
    assert with_range.sum() == counts.sum()
    PackedForest.from_state(trees.state())  # refuses a child that is not behind its parent
    beyond = ~with_range & (trees.left != -1)
    first = trees.first_of_tree
    for child in (trees.left, trees.right):
        assert not with_range[first[beyond] + child[beyond]].any()


def test_a_way_ends_where_it_gets_too_deep():
    """Equal steps up a staircase: each tree peels off one row after another."""
    rows = np.arange(4_000, dtype=np.float32)[:, None]
    forest = packed(ExtraTreesClassifier(3, random_state=0).fit(rows, np.arange(4_000) % 2))
    ranged = Ranged(*Ranges.of(forest, rows, N_RANGED))
    with_range = ranged.ranges.nodes_of(ranged.trees)
    assert ranged.depths[with_range].max() < DEEPEST < ranged.depths.max()
    assert ranged.ranges.depths(ranged.trees).max() == ranged.depths[with_range].max() + 1


def test_of_very_few_rows_nothing_is_said():
    rows = np.random.default_rng(0).normal(size=(FEWEST_KNOWN - 1, 3)).astype(np.float32)
    forest = packed(ExtraTreesClassifier(4, random_state=0).fit(rows, np.arange(len(rows)) % 2))
    assert (Ranged(*Ranges.of(forest, rows, N_RANGED)).surprise(100 * rows) == 0).all()


@pytest.mark.parametrize("n_rows", [0, 1, 15, 16, 17, 1_023, 1_040])
def test_what_is_said_of_a_row_does_not_depend_on_its_company(ranged, n_rows):
    new = 3.0 * np.random.default_rng(2).normal(size=(1_040, 5)).astype(np.float32)
    np.testing.assert_array_equal(ranged.surprise(new[:n_rows]), ranged.surprise(new)[:n_rows])


def test_rows_of_another_width_are_refused(ranged):
    with pytest.raises(ValueError, match="5 features"):
        ranged.surprise(np.zeros((2, 4), dtype=np.float32))


def test_ranges_come_back_from_their_state(ranged):
    new = 3.0 * np.random.default_rng(2).normal(size=(50, 5)).astype(np.float32)
    again = Ranged(ranged.trees, Ranges.from_state(ranged.ranges.state(), ranged.trees))
    np.testing.assert_array_equal(again.surprise(new), ranged.surprise(new))


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        pytest.param("low", lambda low: low[:-1], id="a node's range is missing"),
        pytest.param("high", lambda high: high.double(), id="another type"),
        pytest.param("known", lambda known: known[:, None], id="two dimensions"),
        pytest.param("low", lambda low: low + torch.inf, id="no number"),
        pytest.param("high", lambda high: high * torch.nan, id="not a number"),
        pytest.param("counts", lambda counts: counts[:-1], id="a tree is missing"),
        pytest.param("counts", lambda counts: -counts, id="fewer than none"),
        pytest.param("counts", lambda counts: counts + 2**62, id="more than there are"),
    ],
)
def test_damaged_ranges_are_refused(ranged, name, damage):
    state = ranged.ranges.state()
    with pytest.raises(ValueError, match=r"ranges? in a forest's trees"):
        Ranges.from_state(state | {name: damage(state[name])}, ranged.trees)


def test_a_leaf_with_a_range_is_refused(ranged):
    """A row that came there would never leave the nodes with ranges."""
    state = ranged.ranges.state()
    more = int(ranged.trees.node_counts[0] - ranged.ranges.counts[0])
    counts = state["counts"].clone()
    counts[0] += more
    longer = {name: torch.cat([state[name], state[name][:1].expand(more)]) for name in ("known", "low", "high")}
    with pytest.raises(ValueError, match="a leaf"):
        Ranges.from_state(longer | {"counts": counts}, ranged.trees)


def test_a_table_so_wide_that_its_rows_come_in_several_blocks():
    rows = np.random.default_rng(0).normal(size=(300, 5_000)).astype(np.float32)
    assert len(rows) > BLOCK_VALUES // rows.shape[1] + TOGETHER
    forest = packed(ExtraTreesClassifier(3, random_state=0).fit(rows, np.arange(len(rows)) % 3))
    ranged = Ranged(*Ranges.of(forest, rows, 2))
    together = ranged.trees.walked(3 * rows, ranged.packed)
    alone = [ranged.trees.walked(3 * row[None], ranged.packed) for row in rows]
    for number, found in enumerate(together):
        np.testing.assert_array_equal(found, np.concatenate([one[number] for one in alone]))


def test_nodes_that_share_children_do_not_multiply():
    """As a damaged file may have them: every way through such a tree would be two to the power of its depth."""
    n = 2_000
    left = np.r_[np.arange(1, n), -1].astype(np.int32)
    numbers = np.zeros(n, np.int32)
    forest = PackedForest(
        1,
        np.array([n]),
        left,
        np.where(left == -1, 0, left),
        numbers,
        numbers.astype(np.float32),
        np.ones((1, 1), np.int16),
    )
    ranges = Ranges(np.array([n - 1]), numbers[1:], *np.zeros((2, n - 1), np.float32))
    assert ranges.depths(forest).tolist() == [DEEPEST]
