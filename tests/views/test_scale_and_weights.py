"""One scale for all views, and weights that follow the views which catch what was left out."""

from __future__ import annotations

import numpy as np
import pytest

from gditd.views.scale import LARGE, Scale
from gditd.views.weights import Candidates, Trial, auroc, evenness, prior_weights


def test_the_scale_is_minus_log_p_of_known_rows():
    rng = np.random.default_rng(0)
    known = rng.exponential(3.0, 20_000)
    scale = Scale.fit(known, unit=1e-6)
    for share in (0.5, 0.2, 0.1, 0.01, 1e-3):
        assert scale(np.array([-3.0 * np.log(share)]))[0] == pytest.approx(-np.log(share), rel=0.05)


def test_the_scale_rises_without_end_but_slowly_where_nothing_was_seen():
    scale = Scale.fit(np.random.default_rng(0).normal(size=500), unit=1e-6)
    scaled = scale(np.array([-5.0, 0.0, 1.0, 3.0, 10.0, 100.0, 1e6]))
    assert scaled[0] == 0
    assert (np.diff(scaled) > 0).all()
    assert scaled[4] > LARGE
    assert scaled[6] < 1e4


def test_where_all_known_rows_score_the_same_the_unit_tells_how_much_more_means():
    scale = Scale.fit(np.zeros(30), unit=0.1)
    np.testing.assert_allclose(scale(np.array([0.0, 0.1, 0.4])), [0.0, -np.log(0.1) + 1, -np.log(0.1) + 4])


def test_a_score_that_many_known_rows_share_is_not_strange():
    known = np.concatenate([np.zeros(60), np.linspace(1, 2, 40)])
    assert Scale.fit(known, unit=1e-6)(np.zeros(1))[0] == 0


def test_auroc_counts_ties_half():
    assert auroc(np.array([0.0, 1.0]), np.array([1.0, 2.0])) == pytest.approx((0.75 + 1) / 2)
    assert auroc(np.zeros(3), np.zeros(5)) == 0.5


def trial(rng, useful, n_views=3):
    known, strange = rng.exponential(1.0, (300, n_views)), rng.exponential(1.0, (200, n_views))
    strange[:, useful] += 2.0
    return Trial(known, strange)


def learned(prior, trials):
    candidates = Candidates.around(prior)
    return candidates.mean([one.aurocs(candidates.weights) for one in trials])


def test_views_that_catch_the_classes_left_out_earn_weight():
    rng = np.random.default_rng(0)
    weights = learned(np.full(3, 1 / 3), [trial(rng, useful=2) for _ in range(3)])
    assert weights.sum() == pytest.approx(1)
    assert weights[2] > 0.8
    assert weights[:2].max() < 0.15


def test_where_the_views_catch_alike_the_weights_stay_near_the_prior():
    """No view is of any use, so the candidates differ by chance alone."""
    rng = np.random.default_rng(0)
    prior = np.array([0.6, 0.3, 0.1])
    useless = Trial(rng.exponential(1.0, (2_000, 3)), rng.exponential(1.0, (2_000, 3)))
    weights = learned(prior, [useless])
    assert weights[0] > weights[1] > weights[2]


def test_without_a_class_left_out_the_weights_are_the_prior():
    prior = prior_weights(["zeta", "mixed-forest"], n_rows=10_000, width=20, n_classes=5)
    np.testing.assert_array_equal(Candidates.around(prior).mean([]), prior)


def test_a_trial_tells_the_auroc_of_every_weighted_sum():
    rng = np.random.default_rng(0)
    one = trial(rng, useful=1)
    weights = np.array([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]])
    expected = [auroc(one.known @ own, one.strange @ own) for own in weights]
    np.testing.assert_allclose(one.aurocs(weights), expected)


def test_in_small_tables_the_mixed_forest_counts_less_and_the_columns_more():
    small, large = (
        prior_weights(["zeta", "column-mahalanobis", "mixed-forest"], n_rows=n_rows, width=20, n_classes=5)
        for n_rows in (50, 50_000)
    )
    assert small[2] < large[2]
    assert small[1] > large[1]
    assert small.sum() == pytest.approx(large.sum())


def test_in_small_tables_what_lies_between_classes_counts_less():
    small, large = (
        prior_weights(["zeta", "column-rivals"], n_rows=n_rows, width=20, n_classes=5) for n_rows in (50, 50_000)
    )
    assert small[1] < 0.6 * large[1]


def test_among_very_many_columns_ferns_count_less():
    narrow, wide = (
        prior_weights(["zeta", "fern-likelihood"], n_rows=1_000, width=width, n_classes=5) for width in (10, 2_000)
    )
    assert wide[1] < 0.5 * narrow[1]


def test_of_two_classes_few_rows_make_ferns_count_more_than_the_mixed_forest():
    names = ["mixed-forest", "fern-likelihood"]
    two, three = (prior_weights(names, n_rows=300, width=20, n_classes=n_classes) for n_classes in (2, 3))
    assert two[0] < two[1]
    assert three[0] > three[1]


def test_in_small_tables_the_forest_counts_less_unless_they_are_too_wide_for_the_columns_distance():
    narrow, wide = (
        prior_weights(["zeta", "forest", *distance], n_rows=50, width=20, n_classes=5)
        for distance in (["column-mahalanobis"], [])
    )
    assert narrow[1] < narrow[0]
    assert wide[1] > wide[0]


def test_questions_cut_numbers_evenly_and_categories_of_many_values_hardly():
    many = np.zeros((100, 28), dtype=np.float32)
    many[:, 0] = np.linspace(0, 1, 100)  # a number
    many[np.arange(100), 1 + np.arange(100) % 2] = 1  # a category of two values, and one of 25
    many[np.arange(100), 3 + np.arange(100) % 25] = 1
    owners = np.repeat([0, 1, 2], [1, 2, 25])
    assert evenness(many, owners, np.array([0])) == pytest.approx((1 + 1 + 4 * 0.04 * 0.96) / 3)
    assert evenness(many[:, 3:], owners[3:], np.array([], dtype=int)) == pytest.approx(4 * 0.04 * 0.96)
    assert evenness(many, owners, np.array([0, 1, 3])) == 1.0  # numbers, however many columns they are encoded as


def test_questions_that_all_rows_answer_alike_do_not_count():
    rows = np.array([[1, 0, 0, 1], [0, 1, 0, 1]], dtype=np.float32)
    assert evenness(rows, np.array([0, 0, 0, 1]), np.array([], dtype=int)) == 1.0
    assert evenness(rows[:, 2:], np.array([0, 1]), np.array([], dtype=int)) == 1.0


def test_ranges_and_ferns_count_as_evenly_as_questions_cut():
    names = ["zeta", "mixed-ranges", "fern-likelihood", "fern-surprise"]
    numbers, categories = (prior_weights(names, n_rows=500, width=50, n_classes=2, even=even) for even in (1.0, 0.1))
    np.testing.assert_allclose(categories[1:] / categories[0], 0.1 * numbers[1:] / numbers[0])
