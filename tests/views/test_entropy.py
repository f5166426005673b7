import numpy as np
import scipy.stats

from gditd.views.entropy import entropies


def test_entropy_is_that_of_the_classes_that_count_and_no_vote_adds_nothing():
    votes = np.random.default_rng(0).dirichlet(np.full(6, 0.3), size=200)
    votes[:50, 1] = 0.0
    votes[0] = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    found = np.full(200, np.nan)
    entropies(votes, 6, found)
    known = votes / votes.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found[50:], scipy.stats.entropy(known[50:], axis=1), atol=1e-12)
    assert found[0] == 0.0
    some = np.full(200, np.nan)
    entropies(votes, 4, some)
    last_two = -(votes[1:, 4:] * np.log(votes[1:, 4:])).sum(axis=1)
    np.testing.assert_allclose(some[1:], found[1:] - last_two, atol=1e-12)


def test_votes_that_add_up_to_less_than_all_count_as_they_are():
    found = np.empty(1)
    entropies(np.array([[0.25, 0.0, 0.5]]), 2, found)
    np.testing.assert_allclose(found, 0.25 * np.log(4))
