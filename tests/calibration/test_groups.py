"""Rare classes that are calibrated together."""

import json

import numpy as np
import pytest

from gditd.calibration import ClassCalibrator, merge_rare, too_few
from tests.calibration.cases import balanced, one_class


def test_grouped_p_values_by_hand():
    # Classes 0 and 2 share their rows, each with its score for its own class: 1, 4 and 3.
    scores = [[1, 9, 9], [4, 9, 9], [9, 5, 9], [9, 6, 9], [9, 9, 3]]
    calibrator = ClassCalibrator.fit(scores, [0, 0, 1, 1, 2], groups=[0, 1, 0])
    np.testing.assert_array_equal(
        calibrator.p_values([[3.5, 5.5, 0.5], [1, 7, 5]]), [[2 / 4, 2 / 3, 4 / 4], [4 / 4, 1 / 3, 1 / 4]]
    )
    assert calibrator.counts.tolist() == [3, 2, 3]
    assert calibrator.n_classes == 3


def test_grouped_p_values_match_the_definition_over_folds():
    rng = np.random.default_rng(0)
    groups = np.array([1, 0, 1, 2])
    scores, new = rng.integers(0, 12, (200, 4)), rng.integers(-1, 14, (3, 40, 4))
    y, folds = rng.integers(0, 4, 200), rng.integers(0, 3, 200)
    calibrator = ClassCalibrator.fit(scores, y, folds, groups)
    p = calibrator.p_values(new)
    for j, c in np.ndindex(p.shape):
        partners = [i for i in range(200) if groups[y[i]] == groups[c]]
        at_least = sum(scores[i, y[i]] >= new[folds[i], j, c] for i in partners)
        assert p[j, c] == (1 + at_least) / (len(partners) + 1)
    meta, arrays = calibrator.state()
    again = ClassCalibrator.from_state(json.loads(json.dumps(meta)), arrays)
    np.testing.assert_array_equal(again.p_values(new), p)
    np.testing.assert_array_equal(again.groups, groups)
    with pytest.raises(ValueError, match="contradicts"):
        ClassCalibrator.from_state(meta, {**arrays, "groups": groups[:3]})


def test_groups_of_one_class_each_change_nothing():
    rng = np.random.default_rng(1)
    scores, y, folds = rng.normal(size=(90, 3)), rng.integers(0, 3, 90), np.arange(90) % 4
    alone = ClassCalibrator.fit(scores, y, folds)
    grouped = ClassCalibrator.fit(scores, y, folds, [2, 0, 1])
    new = rng.normal(size=(4, 50, 3))
    np.testing.assert_array_equal(grouped.p_values(new), alone.p_values(new))
    np.testing.assert_array_equal(grouped.promise(0.1), alone.promise(0.1))


def test_the_promise_of_a_group_is_that_of_its_rows():
    y = np.repeat([0, 1, 2], [8, 100, 12])
    grouped = ClassCalibrator.fit(np.zeros((120, 3)), y, np.arange(120) % 5, [0, 1, 0])
    assert grouped.promise(0.1)[0] == grouped.promise(0.1)[2] == balanced(20).promise(0.1).item()
    assert grouped.promise(0.1)[1] == balanced(100).promise(0.1).item()


def test_no_new_rows_have_no_p_values():
    assert one_class([1.0, 2.0]).p_values(np.empty((0, 1))).shape == (0, 1)
    assert one_class([1.0, 2.0]).p_values(np.empty((1, 0, 1))).shape == (0, 1)
    crossed = ClassCalibrator.fit([[1, 2], [2, 1]], [0, 1], [0, 1])
    assert crossed.p_values(np.empty((2, 0, 2))).shape == (0, 2)


@pytest.mark.parametrize(
    ("counts", "groups"),
    [
        ([100, 50, 20], [0, 1, 2]),  # all have enough
        ([100, 5, 50, 6], [0, 1, 2, 1]),  # two rare ones make eleven, enough for 0.1
        ([100, 5, 50, 3], [0, 1, 1, 1]),  # eight are too few, so the next larger class joins
        ([5, 100], [0, 0]),
        ([2, 3, 3], [0, 0, 0]),  # never enough
        ([0, 30], [0, 0]),
        ([9], [0]),
        ([10, 10, 9, 40], [0, 1, 0, 2]),  # the first of the equally large ones joins
        ([], []),
    ],
)
def test_rare_classes_are_merged_until_they_can_reject(counts, groups):
    assert merge_rare(counts, 0.1).tolist() == groups


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_merging_does_no_more_than_it_must(alpha):
    rng = np.random.default_rng(0)
    for _ in range(200):
        counts = np.rint(10 ** rng.uniform(0, 3, rng.integers(1, 8))).astype(int)
        groups = merge_rare(counts, alpha)
        sums = np.bincount(groups, counts)
        assert set(groups) == set(range(len(sums)))
        merged = [c for c in range(len(counts)) if (groups == groups[c]).sum() > 1]
        assert len({groups[c] for c in merged}) <= 1
        if not too_few(counts, alpha).any():
            assert not merged
        elif too_few([counts.sum()], alpha)[0]:
            assert len(sums) == 1
        else:
            assert not too_few(sums, alpha).any()
            largest = max(merged, key=lambda c: counts[c])
            without = sum(counts[c] for c in merged if c != largest)
            assert too_few([without], alpha)[0] or too_few(counts, alpha)[largest]


def test_the_group_promise_holds_for_rows_as_they_come():
    """Of two classes that look different, calibrated together: their rows taken together, not each class alone."""
    rng, alpha, rejected = np.random.default_rng(4), 0.2, []
    for _ in range(4000):
        y = rng.integers(0, 3, 12) // 2  # class 0 is twice as frequent
        scores = np.repeat(rng.normal(3.0 * y)[:, None], 2, axis=1)
        calibrator = ClassCalibrator.fit(scores[:11], y[:11], groups=[0, 0])
        rejected.append((y[11], calibrator.p_values(scores[11:])[0, y[11]] <= alpha))
    classes, flags = np.array(rejected).T
    assert flags.mean() == pytest.approx(discrete_level_at_most(11, alpha), abs=4 * np.sqrt(0.16 / 4000))
    assert flags[classes == 1].mean() > 2 * alpha


def discrete_level_at_most(n, alpha):
    """The share of uniform p-values with steps of 1 / (n + 1) that are at most alpha."""
    return np.floor(alpha * (n + 1)) / (n + 1)
