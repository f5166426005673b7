import numpy as np
import pytest

from gditd.synthesis.mixing import OWN_SHARE, POOL, mix_rows, plan_mixtures, row_marks


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_mixtures_are_strict_and_of_near_rows(rng):
    space = np.concatenate([rng.normal(0, 1, (60, 3)), rng.normal(50, 1, (60, 3))])
    rows = np.arange(120)
    mixtures = plan_mixtures(space, rows, rows, rng)
    np.testing.assert_allclose(mixtures.weights.sum(axis=1), 1)
    assert mixtures.weights.min() >= (1 - OWN_SHARE[1]) * 0.2
    assert mixtures.weights.max() <= OWN_SHARE[1]
    assert (mixtures.parents[:, 0] == rows).all()
    assert (mixtures.parents // 60 == mixtures.parents[:, :1] // 60).all(), "no partner from the other cluster"
    assert all(len(set(parents)) == 3 for parents in mixtures.parents.tolist())


def test_partners_are_among_the_nearest(rng):
    space = rng.normal(size=(200, 2))
    rows = np.arange(200)
    parents = plan_mixtures(space, rows, rows, rng, neighbours=5).parents
    order = np.argsort(((space[:, None] - space[None]) ** 2).sum(axis=2), axis=1)
    for start, *partners in parents.tolist():
        assert set(partners) <= set(order[start, 1:6])


def test_only_members_are_partners(rng):
    members = np.arange(0, 100, 2)
    parents = plan_mixtures(rng.normal(size=(100, 4)), members, members[:7], rng).parents
    assert parents.shape == (7, 3)
    assert (parents % 2 == 0).all()


def test_doubles_are_no_partners(rng):
    space = np.repeat(rng.normal(size=(4, 2)), 30, axis=0)
    rows = np.arange(120)
    parents = plan_mixtures(space, rows, rows, rng).parents
    assert all(len(set(own)) == 3 for own in (parents // 30).tolist())


def test_two_kinds_of_rows_share_a_partner_and_one_kind_has_none(rng):
    rows = np.arange(6)
    two = plan_mixtures(np.repeat([[0.0], [1.0]], 3, axis=0), rows, rows, rng).parents
    assert (two[:, 1] == two[:, 2]).all()
    assert (two[:, 0] // 3 != two[:, 1] // 3).all()
    one = plan_mixtures(np.zeros((6, 1)), rows, rows, rng).parents
    assert (one == rows[:, None]).all()


def test_more_rows_than_a_pool(rng):
    n = 2 * POOL + 10
    mixed = mix_rows(rng.normal(size=(n, 3)).astype(np.float32), rng)
    assert mixed.shape == (n, 3)
    assert mixed.dtype == np.float32


def test_values_are_mixed_by_weight(rng):
    values = rng.normal(size=(50, 4))
    rows = np.arange(50)
    mixtures = plan_mixtures(values, rows, rows, rng)
    expected = sum(mixtures.weights[:, [p]] * values[mixtures.parents[:, p]] for p in range(3))
    np.testing.assert_allclose(mixtures.of(values), expected)
    assert not np.isin(row_marks(mixtures.of(values)), row_marks(values)).any()


def test_what_cannot_be_mixed_is_drawn_by_weight(rng):
    n = 4_000
    mixtures = plan_mixtures(rng.normal(size=(n, 2)), np.arange(n), np.arange(n), rng)
    drawn = mixtures.drawn(rng)
    assert (drawn[:, None] == mixtures.parents).any(axis=1).all()
    assert (drawn == mixtures.parents[:, 0]).mean() == pytest.approx(mixtures.weights[:, 0].mean(), abs=0.03)
