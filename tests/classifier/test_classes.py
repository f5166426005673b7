"""Labels of every kind, and classes of a few rows."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import gditd
from gditd.promises import RareClassWarning
from tests.raw_tables import quick, small_backbone, trained

pytestmark = pytest.mark.filterwarnings("ignore::gditd.promises.RareClassWarning")


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
