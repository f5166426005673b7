"""The verdict, and the promise that comes with it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from gditd import judging
from gditd.calibration import OOD, decide, sign_rule
from gditd.promises import RareClassWarning
from tests.classifier.cases import with_text
from tests.raw_tables import mixed_table, quick, trained

pytestmark = pytest.mark.filterwarnings("ignore::gditd.promises.RareClassWarning")


def test_columns_and_types_of_the_verdict(table, fitted, forgiving, strange_rows):
    verdict = fitted.verdict(table[0])
    assert list(verdict.columns) == ["verdict", "known_class", "p_value", "ood_score"]
    assert verdict["p_value"].dtype == np.float64
    assert verdict["p_value"].between(0, 1, inclusive="right").all()
    assert verdict["ood_score"].dtype.kind == "f"
    np.testing.assert_array_equal(verdict["ood_score"], fitted.ood_score(table[0]))
    np.testing.assert_array_equal(verdict["known_class"], fitted.predict(table[0]))
    assert list(forgiving.verdict(table[0]).columns) == [*verdict.columns, "error"]
    assert (fitted.verdict(strange_rows)["verdict"] == "OOD").all()


@pytest.mark.parametrize("alpha", [None, 0.02, 0.3])
def test_the_verdict_is_what_decide_makes_of_the_p_values(table, fitted, strange_rows, alpha):
    rows = pd.concat([table[0], strange_rows])
    p, zeta = fitted.p_values(rows), fitted.class_scores(rows)
    winners = decide(p, zeta, fitted.alpha if alpha is None else alpha)
    expected = np.where(winners == OOD, "OOD", fitted.classes_[winners])
    verdict = fitted.verdict(rows, alpha)
    np.testing.assert_array_equal(verdict["verdict"], expected)
    np.testing.assert_array_equal(verdict["p_value"], p.max(axis=1))
    assert verdict["known_class"].isin(fitted.classes_).all()
    assert {"OOD", *fitted.classes_} >= set(verdict["verdict"])


def test_alpha_at_verdict_time_is_checked_and_raises_the_number_of_alarms(table, fitted):
    alarms = [(fitted.verdict(table[0], alpha)["verdict"] == "OOD").sum() for alpha in (0.01, 0.1, 0.4)]
    assert alarms[0] == 0
    assert alarms[1] < alarms[2]
    with pytest.raises(ValueError, match="alpha must lie between 0 and 1, got 5"):
        fitted.verdict(table[0], 5)
    with pytest.raises(ValueError, match="control must be"):
        fitted.verdict(table[0], control="rows")


def test_control_of_a_whole_table_bounds_the_share_of_false_alarms(fitted, strange_rows):
    known, _ = mixed_table(seed=1)
    verdict = fitted.verdict(pd.concat([known, *[strange_rows] * 4]), 0.2, control="table")
    flagged = (verdict["verdict"] == "OOD").to_numpy()
    assert flagged[len(known) :].all()
    assert flagged[: len(known)].sum() <= 0.4 * flagged.sum()
    # With no strange row in the table, no row is strange enough.
    assert (fitted.verdict(known, 0.2, control="table")["verdict"] == "OOD").sum() <= 5
    np.testing.assert_array_equal(verdict["verdict"][~flagged], verdict["known_class"][~flagged])


@pytest.mark.parametrize("control", ["row", "table"])
def test_many_rows_are_judged_as_few_are(table, forgiving, strange_rows, control, monkeypatch):
    rows = with_text(pd.concat([table[0], strange_rows], ignore_index=True))
    at_once = forgiving.verdict(rows, 0.2, control=control)
    assert at_once["error"].notna().sum() == 1
    monkeypatch.setattr(judging, "ROWS_AT_A_TIME", 37)
    pd.testing.assert_frame_equal(forgiving.verdict(rows, 0.2, control=control), at_once, check_exact=True)


def test_the_sign_rule_follows_the_sign_of_zeta(table, strange_rows):
    frame, y = table
    rows = pd.concat([frame, strange_rows])
    model = trained(rule="sign").fit(frame, y)
    winners = sign_rule(model.class_scores(rows))
    verdict = model.verdict(rows)
    np.testing.assert_array_equal(verdict["verdict"], np.where(winners == OOD, "OOD", model.classes_[winners]))
    np.testing.assert_array_equal(verdict["verdict"] == "OOD", verdict["ood_score"] > 0)
    assert len(set(verdict["verdict"] == "OOD")) == 2
    # Calibrated all the same: only the rule is another.
    np.testing.assert_array_equal(verdict["p_value"], model.p_values(rows).max(axis=1))


def test_the_paper_preset_has_no_p_values_and_says_so(table):
    model = quick(preset="paper").fit(*table)
    with pytest.raises(ValueError, match=r'no p-values: fit it with calibration="cross" or "split"'):
        model.p_values(table[0])
    verdict = model.verdict(table[0])
    assert verdict["p_value"].isna().all()
    np.testing.assert_array_equal(verdict["verdict"] == "OOD", verdict["ood_score"] > 0)
    assert model.promises()["promise"].isna().all()
    assert model.model_.temperature == 1.0


def test_decision_function_has_a_column_a_class_and_a_difference_for_two(table):
    frame, y = table
    three = quick().fit(frame, y)
    assert three.decision_function(frame).shape == (len(frame), 3)
    np.testing.assert_array_equal(three.decision_function(frame), three.class_scores(frame))
    two = quick().fit(frame, y == "top")
    scores = two.class_scores(frame)
    np.testing.assert_array_equal(two.decision_function(frame), scores[:, 1] - scores[:, 0])
    np.testing.assert_array_equal(two.decision_function(frame) > 0, two.predict(frame))


def test_promises_say_the_bound_in_force_and_who_shares_it():
    rng = np.random.default_rng(0)
    y = np.repeat(["few", "many", "some"], [20, 200, 40])
    X = rng.normal(size=(len(y), 3))
    split = quick(alpha=0.1).fit(X, y).promises()
    assert split["class"].tolist() == ["few", "many", "some"]
    assert split["rows"].tolist() == [20, 200, 40]
    assert split["promise"].tolist() == [0.1] * 3
    assert split["calibrated_with"].tolist() == ["some", "", "few"]
    np.testing.assert_allclose(split["smallest_alpha"], [1 / 17, 1 / 21, 1 / 17])
    model = quick(calibration="cross", n_members=5, alpha=0.1).fit(X, y)
    cross = model.promises()
    assert (cross["promise"] > 0.1).all()
    assert cross["promise"].argmin() == 1
    assert cross["calibrated_with"].tolist() == ["", "", ""]
    np.testing.assert_allclose(cross["smallest_alpha"], [1 / 21, 1 / 201, 1 / 41])
    assert (model.promises(0.2)["promise"] > cross["promise"]).all()


def test_the_sign_rule_is_not_warned_of_what_alpha_cannot_do(table):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RareClassWarning)
        trained(rule="sign", alpha=0.001).fit(*table)


def test_the_sign_rule_promises_nothing_and_has_no_control(table):
    model = trained(rule="sign").fit(*table)
    assert model.promises()[["promise", "smallest_alpha"]].isna().all(axis=None)
    with pytest.raises(ValueError, match="needs p-values: fit with rule"):
        model.verdict(table[0], control="table")
    with pytest.raises(ValueError, match="alpha must lie between 0 and 1, got 7"):
        model.verdict(table[0], 7)
