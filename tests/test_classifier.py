from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import gditd
from gditd import presets
from gditd.calibration import OOD, decide, sign_rule
from gditd.promises import RareClassWarning
from tests.raw_tables import as_python_rows, mixed_table, quick, small_backbone, trained

pytestmark = pytest.mark.filterwarnings("ignore::gditd.promises.RareClassWarning")

FORMS = {
    "polars": pl.from_pandas,
    "lazy polars": lambda frame: pl.from_pandas(frame).lazy(),
    "arrow": pa.Table.from_pandas,
    "arrow batch": pa.RecordBatch.from_pandas,
    "dicts": lambda frame: as_python_rows(frame).to_dict("records"),
    "object array": lambda frame: as_python_rows(frame).to_numpy(),
}

PRESETS = {
    "fast": {"preset": "fast"},
    "default": {"preset": "default"},
    "paper": {"preset": "paper"},
    "merged": {"preset": "default", "alpha": 0.02},
}


@pytest.fixture(scope="module")
def table():
    return mixed_table()


@pytest.fixture(scope="module")
def fitted(table):
    return trained().fit(*table)


@pytest.fixture(scope="module")
def forgiving(table):
    return trained(on_error="ood").fit(*table)


@pytest.fixture
def strange_rows(table):
    """Rows far from every class."""
    frame = table[0].iloc[:30].copy()
    frame["amount"] = 1e4
    frame["gap"] = -1e4
    return frame


# --- tables of every form -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_the_same_table_in_another_form_gets_the_same_verdicts(table, fitted, form):
    frame, y = table
    other = FORMS[form](frame)
    pd.testing.assert_frame_equal(fitted.verdict(other), fitted.verdict(frame), check_exact=True)
    refitted = trained().fit(other, y)
    pd.testing.assert_frame_equal(refitted.verdict(other), fitted.verdict(frame), check_exact=True)


def test_columns_may_come_in_any_order(table, fitted):
    frame, _ = table
    backwards = frame[frame.columns[::-1]]
    pd.testing.assert_frame_equal(fitted.verdict(backwards), fitted.verdict(frame), check_exact=True)


def test_the_index_of_a_frame_means_nothing(table, fitted):
    frame, _ = table
    shuffled = frame.set_index(np.arange(len(frame))[::-1] * 7)
    pd.testing.assert_frame_equal(fitted.verdict(shuffled), fitted.verdict(frame), check_exact=True)


def test_extra_columns_are_ignored_with_a_note(table, fitted):
    frame, _ = table
    with pytest.warns(UserWarning, match='ignored 1 column not seen in training: "novel"'):
        verdict = fitted.verdict(frame.assign(novel=1))
    pd.testing.assert_frame_equal(verdict, fitted.verdict(frame), check_exact=True)


def test_a_row_gets_the_verdict_it_has_among_others(table, fitted):
    frame, _ = table
    alone = pd.concat([fitted.verdict(frame.iloc[[row]]) for row in (0, 50, 200)], ignore_index=True)
    among = fitted.verdict(frame).iloc[[0, 50, 200]].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, among)


def test_no_rows_give_no_verdicts(table, fitted, forgiving):
    frame, _ = table
    for model, n_columns in ((fitted, 4), (forgiving, 5)):
        assert model.verdict(frame.iloc[:0]).shape == (0, n_columns)
        assert model.verdict(frame.iloc[:0], control="table").shape == (0, n_columns)
        assert model.predict(frame.iloc[:0]).shape == (0,)
        assert model.predict_proba(frame.iloc[:0]).shape == (0, 3)
        assert model.p_values(frame.iloc[:0]).shape == (0, 3)
    X, y = np.random.default_rng(0).normal(size=(90, 2)), np.arange(90) % 3
    assert quick().fit(X, y).predict(X[:0]).shape == (0,)


def test_unfitted_says_so(table):
    for call in (quick().verdict, quick().predict, quick().p_values, lambda _: quick().promises()):
        with pytest.raises(NotFittedError):
            call(table[0])


# --- values that do not fit ---------------------------------------------------------------------------------


def with_text(frame):
    return frame.assign(amount=frame["amount"].astype(object).mask(np.arange(len(frame)) == 4, "much"))


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


# --- the verdict --------------------------------------------------------------------------------------------


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


# --- classes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "kind"),
    [([3, -1, 10**12], int), (["b", "a", "é"], str), ([True, False], bool), ([1.0, 2.0, -3.0], float)],
)
def test_labels_keep_their_type(table, tmp_path, labels, kind):
    frame, _ = table
    y = np.array(labels)[np.arange(len(frame)) % len(labels)]
    model = quick().fit(frame, y)
    assert model.classes_.tolist() == sorted(labels)
    assert model.predict(frame).dtype == y.dtype
    verdict = model.verdict(frame, 0.4)
    assert {type(value) for value in verdict["verdict"]} == {kind, str}
    assert {type(value) for value in verdict["known_class"].tolist()} == {kind}
    model.save(tmp_path / "model.gditd")
    again = gditd.load(tmp_path / "model.gditd", backbone=small_backbone)
    assert again.classes_.tolist() == model.classes_.tolist()
    pd.testing.assert_frame_equal(again.verdict(frame, 0.4), verdict, check_exact=True)


@pytest.mark.parametrize("as_array", [False, True])
def test_a_missing_label_is_named_by_its_row(table, as_array):
    frame, y = table
    rows = frame[["amount", "gap"]].to_numpy() if as_array else frame
    holes = y.astype(object)
    holes[[6, 9]] = None
    with pytest.raises(ValueError, match=r"row 7 has no label \(and 1 more\)"):
        quick().fit(rows, holes)
    with pytest.raises(ValueError, match="row 4 has no label"):
        quick().fit(rows, np.where(np.arange(len(frame)) == 3, np.nan, 1.0))
    with pytest.raises(ValueError, match="y is None"):
        quick().fit(rows, None)
    with pytest.raises(ValueError, match=f"{len(frame)} rows and there are 5 labels"):
        quick().fit(rows, y[:5])


def test_no_class_may_be_named_like_the_verdict_on_strange_rows(table):
    frame, y = table
    with pytest.raises(ValueError, match='a class cannot be named "OOD"'):
        quick().fit(frame, np.where(y == "top", "OOD", y))


def test_one_class_only(table, strange_rows):
    frame, _ = table
    model = trained().fit(frame, ["known"] * len(frame))
    assert (model.predict(frame) == "known").all()
    assert (model.predict_proba(frame) == 1).all()
    assert (model.verdict(strange_rows)["verdict"] == "OOD").all()
    assert (model.verdict(frame)["verdict"] == "known").mean() > 0.8


@pytest.mark.parametrize("settings", [{"calibration": "split"}, {"calibration": "cross", "n_members": 5}])
@pytest.mark.parametrize(
    "counts",
    [(1, 2, 3, 4, 100), (4, 60), (2, 2), (1, 1), (3,), (2, 1)],
    ids=lambda counts: "-".join(map(str, counts)),
)
def test_classes_of_one_to_four_rows_work_with_a_warning(settings, counts, tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(counts)), counts)
    X = rng.normal(size=(len(y), 3)) + 5 * y[:, None]
    with pytest.warns(RareClassWarning):
        model = quick(**settings).fit(X, y)
    verdict = model.verdict(X)
    assert len(verdict) == len(y)
    assert ((model.p_values(X) > 0) & (model.p_values(X) <= 1)).all()
    assert np.isfinite(model.predict_proba(X)).all()
    promises = model.promises()
    assert promises["rows"].tolist() == list(counts)
    np.testing.assert_array_equal(promises["promise"].isna(), np.array(counts) == 1)
    if (promises["smallest_alpha"] >= model.alpha).any():
        assert (model.verdict(np.full((2, 3), 1e6))["verdict"] != "OOD").all()
    model.save(tmp_path / "model.gditd")
    again = gditd.load(tmp_path / "model.gditd", backbone=small_backbone)
    pd.testing.assert_frame_equal(again.verdict(X), verdict, check_exact=True)


def test_the_warnings_name_the_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(["single", "pair", "many"], [1, 2, 300])
    with pytest.warns(RareClassWarning) as caught:
        quick().fit(rng.normal(size=(len(y), 3)), y)
    text = " ".join(str(warning.message) for warning in caught)
    assert "of class 'single' there is one row only" in text
    assert "classes 'many', 'pair', 'single' are calibrated together" in text
    with warnings.catch_warnings():
        warnings.simplefilter("error", RareClassWarning)
        quick().fit(rng.normal(size=(300, 3)), np.arange(300) % 3)


# --- the promise --------------------------------------------------------------------------------------------


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


# --- saved models -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", PRESETS.values(), ids=PRESETS)
def test_a_saved_model_gives_the_same_bits(table, strange_rows, tmp_path, settings):
    frame, y = table
    model = quick(**settings, on_error="ood", ignore=("items",)).fit(frame, y)
    model.save(tmp_path / "model.gditd")
    again = gditd.load(tmp_path / "model.gditd", backbone=small_backbone)
    rows = with_text(pd.concat([frame, strange_rows], ignore_index=True))
    pd.testing.assert_frame_equal(again.verdict(rows), model.verdict(rows), check_exact=True)
    pd.testing.assert_frame_equal(again.promises(), model.promises(), check_exact=True)
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    if model.model_.calibrator is not None:
        np.testing.assert_array_equal(again.p_values(rows), model.p_values(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again.predict(frame)


@pytest.mark.parametrize("backbone", ["mlp", "mlp-64", "mlp-64-32-32", "residual"])
def test_a_named_backbone_needs_nothing_to_be_loaded(table, tmp_path, backbone):
    model = quick(backbone=backbone, max_epochs=1).fit(*table)
    model.save(tmp_path / "model.gditd")
    again = gditd.load(tmp_path / "model.gditd")
    np.testing.assert_array_equal(again.p_values(table[0]), model.p_values(table[0]))


def test_a_file_knows_its_network_whatever_the_preset_stands_for_by_now(table, tmp_path, monkeypatch):
    model = quick(backbone=None, max_epochs=1).fit(*table)
    model.save(tmp_path / "model.gditd")
    changed = replace(presets.PRESETS[model.preset], backbone="residual")
    monkeypatch.setitem(presets.PRESETS, model.preset, changed)
    again = gditd.load(tmp_path / "model.gditd")
    np.testing.assert_array_equal(again.ood_score(table[0]), model.ood_score(table[0]))


# --- fits that fail -----------------------------------------------------------------------------------------


def interrupt(progress):
    raise KeyboardInterrupt


@pytest.mark.parametrize("columns", [["amount", "gap", "region"], None], ids=["fewer columns", "same columns"])
def test_an_interrupted_second_fit_leaves_the_first(table, columns):
    frame, y = table
    model = quick().fit(frame, y)
    before, promises = model.verdict(frame), model.promises()
    model.set_params(progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(frame[columns or list(frame.columns)].iloc[::2], np.where(y == "low", "new", y)[::2])
    pd.testing.assert_frame_equal(model.verdict(frame), before, check_exact=True)
    pd.testing.assert_frame_equal(model.promises(), promises, check_exact=True)
    assert model.n_features_in_ == frame.shape[1]
    assert model.classes_.tolist() == ["low", "middle", "top"]


@pytest.mark.parametrize(
    ("settings", "error"), [({"progress": interrupt}, KeyboardInterrupt), ({"numbers": "roman"}, ValueError)]
)
def test_a_failing_first_fit_leaves_the_estimator_unfitted(table, settings, error):
    model = quick(**settings)
    with pytest.raises(error):
        model.fit(*table)
    assert [name for name in vars(model) if name.endswith("_")] == []
    with pytest.raises(NotFittedError):
        model.predict(table[0])


def test_a_second_fit_forgets_the_first(table):
    frame, y = table
    model = quick().fit(frame, y)
    model.fit(frame[["amount", "gap"]].to_numpy(), y == "low")
    assert not hasattr(model, "feature_names_in_")
    assert model.classes_.tolist() == [False, True]
    model.set_params(preset="paper").fit(frame, y)
    assert model.model_.calibrator is None


@pytest.mark.parametrize("settings", PRESETS.values(), ids=PRESETS)
def test_the_same_seed_gives_the_same_bits(table, settings):
    first, second = (quick(**settings).fit(*table).verdict(table[0]) for _ in range(2))
    pd.testing.assert_frame_equal(first, second, check_exact=True)
    other = quick(**settings | {"random_state": 1}).fit(*table).verdict(table[0])
    assert not first.equals(other)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"preset": "best"}, "preset must be"),
        ({"rule": "majority"}, "rule must be"),
        ({"calibration": "twice"}, "calibration must be"),
        ({"calibration": "none"}, 'rule="conformal" needs calibration'),
        ({"calibration": "cross", "n_members": 1}, "n_members of at least 2"),
        ({"alpha": 0}, "alpha must lie between 0 and 1, got 0"),
        ({"alpha": 1.0}, "alpha must"),
        ({"alpha": float("nan")}, "alpha must"),
        ({"alpha": "small"}, "alpha must"),
        ({"numbers": "roman"}, "numbers must be"),
        ({"n_members": 0}, "n_members must be"),
        ({"n_members": 2.5}, "n_members must be"),
        ({"n_members": "five"}, "n_members must be"),
        ({"on_error": "ignore"}, "on_error must be"),
        ({"ignore": "amount"}, "ignore must be a tuple or list"),
        ({"ignore": ("nowhere",)}, 'no column "nowhere" to ignore'),
        ({"max_epochs": 0}, "max_epochs must be"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"backbone": "tower"}, "backbone must be"),
    ],
)
def test_bad_settings_are_refused_by_name(table, settings, message):
    with pytest.raises(ValueError, match=message):
        quick(**settings).fit(*table)


# --- scikit-learn -------------------------------------------------------------------------------------------


def test_cross_validation_search_and_pipelines_take_frames(table):
    frame, y = table
    order = np.random.default_rng(0).permutation(len(frame))
    frame, y = frame.iloc[order], y[order]
    scores = cross_val_score(trained(), frame, y, cv=2)
    assert scores.mean() > 0.8
    search = GridSearchCV(quick(), {"numbers": ["zscore", "piecewise"], "alpha": [0.1]}, cv=2).fit(frame, y)
    assert search.best_estimator_.verdict(frame).shape == (len(frame), 4)
    pipeline = make_pipeline(FunctionTransformer(lambda rows: rows.drop(columns="day")), quick()).fit(frame, y)
    assert pipeline.predict(frame).shape == (len(frame),)
    assert "day" not in pipeline[-1].feature_names_in_


@pytest.mark.parametrize("numbers", ["zscore", "quantile", "piecewise"])
def test_every_encoding_of_numbers_learns(table, numbers):
    frame, y = table
    assert trained(numbers=numbers).fit(frame, y).score(frame, y) > 0.85
