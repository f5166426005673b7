"""P-values of calibrated scores."""

import json

import numpy as np
import pytest

from gditd.calibration import ClassCalibrator, decide, merge_rare, sign_rule, too_few
from tests.calibration.cases import one_class


def test_split_p_values_by_hand_with_ties():
    scores = [[1, 9], [2, 9], [2, 9], [3, 9], [0, 5], [0, 7]]
    calibrator = ClassCalibrator.fit(scores, [0, 0, 0, 0, 1, 1])
    new = [[0.5, 4], [1, 5], [2, 6], [2.5, 7], [3, 8], [4, 9]]
    expected = [
        [5 / 5, 3 / 3],
        [5 / 5, 3 / 3],
        [4 / 5, 2 / 3],
        [2 / 5, 2 / 3],
        [2 / 5, 1 / 3],
        [1 / 5, 1 / 3],
    ]
    np.testing.assert_array_equal(calibrator.p_values(new), expected)
    np.testing.assert_array_equal(calibrator.p_values([new]), expected)
    assert calibrator.method == "split"
    assert calibrator.counts.tolist() == [4, 2]


def test_cross_p_values_by_hand_compare_each_fold_with_its_own_scores():
    scores = [[1, 0], [3, 0], [0, 2], [2, 0], [4, 0]]
    calibrator = ClassCalibrator.fit(scores, [0, 0, 1, 0, 0], folds=[0, 0, 0, 1, 1])
    # Row 0 scores 3 for class 0 with fold 0 (one calibration score as high) and 5 with fold 1 (none).
    new = [[[3, 2], [0, 3]], [[5, 0], [3, 0]]]
    np.testing.assert_array_equal(calibrator.p_values(new), [[2 / 5, 2 / 2], [4 / 5, 1 / 2]])
    assert calibrator.method == "cross"
    assert calibrator.fold_counts.tolist() == [[2, 1], [2, 0]]


def test_p_values_match_the_definition_and_fall_as_scores_rise():
    rng = np.random.default_rng(0)
    scores, new = rng.integers(0, 12, (200, 3)), rng.integers(-1, 14, (3, 60, 3))
    y, folds = rng.integers(0, 3, 200), rng.integers(0, 3, 200)
    p = ClassCalibrator.fit(scores, y, folds).p_values(new)
    for j, c in np.ndindex(p.shape):
        at_least = sum(scores[i, c] >= new[folds[i], j, c] for i in range(200) if y[i] == c)
        assert p[j, c] == (1 + at_least) / ((y == c).sum() + 1)
    assert (ClassCalibrator.fit(scores, y, folds).p_values(new + 1) <= p).all()


def test_infinite_scores_are_ordered_like_any_other():
    np.testing.assert_array_equal(one_class([1.0, 2.0, np.inf]).p_values([[np.inf], [-np.inf]]), [[2 / 4], [4 / 4]])


def test_a_class_without_rows_is_never_rejected():
    calibrator = ClassCalibrator.fit(np.arange(40.0).reshape(20, 2), np.zeros(20, dtype=int))
    p = calibrator.p_values([[1e9, 1e9]])
    assert p.tolist() == [[1 / 21, 1.0]]
    assert too_few(calibrator.counts, 0.05).tolist() == [False, True]
    assert decide(p, [[5.0, -np.inf]], 0.05).tolist() == [1]
    assert ClassCalibrator.fit(np.empty((0, 2)), []).p_values([[3, 4]]).tolist() == [[1.0, 1.0]]


def test_state_round_trip_through_json_gives_the_same_bits():
    rng = np.random.default_rng(1)
    calibrator = ClassCalibrator.fit(rng.normal(size=(90, 3)), rng.integers(0, 3, 90), np.arange(90) % 4)
    meta, arrays = calibrator.state()
    again = ClassCalibrator.from_state(json.loads(json.dumps(meta)), arrays)
    new = rng.normal(size=(4, 50, 3))
    np.testing.assert_array_equal(again.p_values(new), calibrator.p_values(new))
    np.testing.assert_array_equal(again.promise(0.1), calibrator.promise(0.1))
    with pytest.raises(ValueError, match="contradicts"):
        ClassCalibrator.from_state(meta, {**arrays, "scores": arrays["scores"][1:]})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ClassCalibrator.fit([[1, 2], [np.nan, 1]], [0, 1]), "row 1 has a NaN"),
        (lambda: one_class([1.0, 2.0]).p_values([[0.0], [1.0], [np.nan]]), "row 2 has a NaN"),
        (
            lambda: ClassCalibrator.fit([[1], [2]], [0, 0], [0, 1]).p_values([[[1], [np.nan]], [[1], [1]]]),
            "row 1",
        ),
        (lambda: sign_rule([[np.nan, 1.0]]), "row 0"),
        (lambda: decide([[0.5, 0.5]], [[1.0, np.nan]], 0.1), "row 0"),
        (lambda: decide([[0.5, 0.5]], [[1.0]], 0.1), "do not fit"),
        (lambda: ClassCalibrator.fit([[1, 2], [1, 2]], [0, 2]), "y of row 1 is 2"),
        (lambda: ClassCalibrator.fit([[1, 2], [1, 2]], [0.0, 1.0]), "integers"),
        (lambda: ClassCalibrator.fit([[1, 2], [1, 2]], [0]), "2 integers"),
        (lambda: ClassCalibrator.fit([[1], [1]], [0, 0], [0, -1]), "folds of row 1 is -1"),
        (lambda: ClassCalibrator.fit([[1], [1]], [0, 0], [0, 2]), "fold 1 has no calibration row"),
        (lambda: ClassCalibrator.fit([[1], [1]], [0, 0], [0, 1]).p_values([[1.0]]), "3 dimensions"),
        (lambda: one_class([1.0]).p_values([[1.0, 2.0]]), "2 classes given"),
        (lambda: too_few([20], 5), "alpha"),
        (lambda: merge_rare([20], 0), "alpha"),
        (lambda: ClassCalibrator.fit([[1, 2], [1, 2]], [0, 1], groups=[0]), "groups must be 2 integers"),
        (lambda: ClassCalibrator.fit([[1, 2], [1, 2]], [0, 1], groups=[0, -1]), "groups of row 1 is -1"),
    ],
)
def test_wrong_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
