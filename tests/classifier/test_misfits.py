"""Values that do not fit, and what no training row had."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from tests.classifier.cases import with_text
from tests.raw_tables import quick, trained

pytestmark = pytest.mark.filterwarnings("ignore::gditd.promises.RareClassWarning")


def with_infinity(frame):
    return frame.assign(amount=frame["amount"].mask(np.arange(len(frame)) == 4, np.inf))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda frame: frame.drop(columns="amount"), 'lacks column "amount"'),
        (with_text, 'column "amount", row 5: "much" is not a number'),
        (with_infinity, 'column "amount", row 5: inf is not a finite number'),
        (lambda frame: pd.concat([frame, frame[["gap"]]], axis=1), 'more than one column named "gap"'),
    ],
)
def test_values_that_do_not_fit_are_named(table, fitted, damage, message):
    with pytest.raises(ValueError, match=message):
        fitted.verdict(damage(table[0]))


@pytest.mark.parametrize("calibration", ["split", "cross"])
def test_an_infinite_training_value_is_named_by_its_row_in_the_whole_table(table, calibration):
    frame, y = table
    for row in range(150, 156):
        infinite = frame["amount"].mask(np.arange(len(frame)) == row, np.inf)
        with pytest.raises(ValueError, match=f'column "amount", row {row + 1}: inf'):
            quick(calibration=calibration, n_members=2).fit(frame.assign(amount=infinite), y)


@pytest.mark.parametrize(("damage", "reason"), [(with_text, '"much" is not a number'), (with_infinity, "inf is not")])
@pytest.mark.parametrize("control", ["row", "table"])
def test_on_error_ood_calls_just_those_rows_ood_and_says_why(table, forgiving, damage, reason, control):
    frame, _ = table
    verdict = forgiving.verdict(damage(frame), control=control)
    assert verdict["verdict"][4] == "OOD"
    assert verdict["p_value"][4] == 0
    assert reason in verdict["error"][4]
    assert 'column "amount", row 5' in verdict["error"][4]
    rest = verdict.drop(index=4)
    assert rest["error"].isna().all()
    pd.testing.assert_frame_equal(
        rest[["known_class", "p_value", "ood_score"]],
        forgiving.verdict(frame).drop(index=4)[["known_class", "p_value", "ood_score"]],
    )


def test_on_error_ood_calls_all_rows_ood_where_a_column_is_missing(table, forgiving):
    verdict = forgiving.verdict(table[0].drop(columns="amount"))
    assert (verdict["verdict"] == "OOD").all()
    assert verdict["error"].str.contains('"amount"').all()


def test_on_error_ood_holds_for_the_sign_rule_where_empty_rows_are_ordinary():
    rng = np.random.default_rng(0)
    empty = rng.random(200) < 0.5
    frame = pd.DataFrame({name: np.where(empty, np.nan, rng.normal(size=200)) for name in ("amount", "gap")})
    model = trained(rule="sign", on_error="ood").fit(frame, ["known"] * 200)
    assert (model.verdict(frame)["verdict"][empty] == "known").all()
    verdict = model.verdict(with_text(frame))
    assert verdict["verdict"][4] == "OOD"
    assert verdict["error"].notna().sum() == 1


def test_an_unseen_category_is_evidence(table, fitted):
    frame, y = table
    seen = frame.assign(region=np.array(["north", "south", "west"])[np.unique(y, return_inverse=True)[1]])
    unseen = frame.assign(region="overseas")
    assert (fitted.ood_score(unseen) > fitted.ood_score(seen)).mean() > 0.9


def test_a_gap_where_training_had_none_is_evidence(table, fitted):
    frame, _ = table
    usual = fitted.ood_score(frame.assign(items=4))
    assert (fitted.ood_score(frame.assign(items=np.nan)) > usual).mean() > 0.8


def test_an_identifier_is_refused_with_the_cure_and_can_be_ignored(table):
    frame, y = table
    marked = frame.assign(id=[f"case {row}" for row in range(len(frame))])
    with pytest.raises(ValueError, match=r'column "id" holds a different text in every row.*ignore=\["id"\]'):
        quick().fit(marked, y)
    model = quick(ignore=("id",)).fit(marked, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = model.ood_score(marked)
    np.testing.assert_array_equal(scores, model.ood_score(frame))
    np.testing.assert_array_equal(scores, quick().fit(frame, y).ood_score(frame))
