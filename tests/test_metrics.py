import numpy as np
import pytest

from gditd import metrics


def test_accuracies():
    classes, predicted = np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 0, 1, 1, 0])
    assert metrics.accuracy(classes, predicted) == pytest.approx(4 / 6)
    assert metrics.balanced_accuracy(classes, predicted) == pytest.approx((0.75 + 0.5) / 2)


def test_aupr_of_a_class():
    classes, scores = np.array([0, 1, 0, 1]), np.array([0.9, 0.8, 0.7, 0.6])
    assert metrics.class_aupr(classes, scores, 1) == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert metrics.class_aupr(classes, scores, 2) is None


def test_ood_figures():
    is_ood = np.array([False, False, False, True, True])
    scores = np.array([0.1, 0.2, 0.5, 0.4, 0.9])
    assert metrics.ood_auroc(is_ood, scores) == pytest.approx(5 / 6)
    assert metrics.ood_aupr(is_ood, scores) == pytest.approx((1 + 2 / 3) / 2)


def test_the_threshold_keeps_at_least_the_share_asked_for():
    known, strange = np.arange(20.0), np.array([15.5, 16.0, 16.5, 30.0])
    is_ood = np.repeat([False, True], [20, 4])
    scores = np.concatenate([known, strange])
    # 17 of 20 are 85 %: the threshold is the seventeenth known score, 16, and a tie with it is kept.
    assert metrics.tnr_at_tpr(is_ood, scores) == 0.5
    assert metrics.tnr_at_tpr(is_ood, scores, kept=1.0) == 0.25


def test_what_rows_do_not_define_is_none():
    none, scores = np.zeros(3, dtype=bool), np.arange(3.0)
    for figure in (metrics.ood_auroc, metrics.ood_aupr, metrics.tnr_at_tpr):
        assert figure(none, scores) is None
        assert figure(~none, scores) is None
    empty = np.array([], dtype=int)
    assert metrics.accuracy(empty, empty) is None
    assert metrics.balanced_accuracy(empty, empty) is None


@pytest.mark.parametrize("figure", [metrics.ood_auroc, metrics.ood_aupr, metrics.tnr_at_tpr])
def test_nan_scores_are_refused(figure):
    with pytest.raises(ValueError, match="row 2 has a NaN score"):
        figure(np.array([True, False, False]), np.array([1.0, np.nan, 0.0]))
