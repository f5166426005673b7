from __future__ import annotations

import numpy as np
import pytest

from gditd.presets import PRESETS
from gditd.streaming.quotas import class_quotas, drawn_places, levelled

FAST = PRESETS["fast"]
VISITED = FAST.max_steps * FAST.batch_size


def test_rare_classes_are_whole_and_common_ones_as_large_as_training_visits():
    counts = np.array([18_000_000, 1_991_500, 8_000, 500])
    quotas = class_quotas(counts, FAST, alpha=0.05, most=10**9)
    assert quotas[2:].tolist() == [8_000, 500]
    assert quotas[0] == pytest.approx(0.9 * VISITED + 2_000, abs=2)
    assert quotas[1] == pytest.approx(0.1 * VISITED + 2_000, rel=0.01)


def test_a_small_table_is_taken_whole():
    counts = np.array([1, 20, 5_000, 100_000])
    assert class_quotas(counts, FAST, alpha=0.05, most=10**9).tolist() == counts.tolist()


def test_many_classes_stay_bounded():
    quotas = class_quotas(np.full(1_000, 100_000), FAST, alpha=0.05, most=10**9)
    assert quotas.sum() <= 3 * VISITED + 1_000 * 2_001


def test_epochs_without_a_bound_on_steps():
    quotas = class_quotas(np.array([10**9, 400]), PRESETS["paper"], alpha=0.05, most=10**9)
    assert quotas[1] == 400
    assert quotas[0] == pytest.approx(1e6, rel=0.01)


@pytest.mark.parametrize("most", [3, 10, 100, 1_000])
def test_the_largest_give_first(most):
    wanted = np.array([900, 40, 30, 2])
    cut = levelled(wanted, most)
    assert cut.sum() <= max(most, len(wanted))
    assert cut.min() >= 1
    assert (cut[wanted <= cut.max()] == wanted[wanted <= cut.max()]).all()


@pytest.mark.parametrize(("count", "quota"), [(10, 10), (10, 7), (10, 3), (10**12, 1_000), (5, 0)])
def test_places_are_different_and_in_order(count, quota):
    places = drawn_places(count, quota, np.random.default_rng(0))
    assert len(places) == quota
    assert (np.diff(places) > 0).all()
    assert quota == 0 or (places[0] >= 0 and places[-1] < count)


@pytest.mark.parametrize("quota", [2, 4])
def test_every_row_is_as_likely_as_any_other(quota):
    rng = np.random.default_rng(0)
    drawn = np.concatenate([drawn_places(6, quota, rng) for _ in range(6_000)])
    expected = 6_000 * quota / 6
    assert np.abs(np.bincount(drawn, minlength=6) - expected).max() < 4 * np.sqrt(expected)
