"""Fits that fail, fits anew, and settings that no fit takes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from tests.classifier.cases import PRESETS
from tests.raw_tables import quick

pytestmark = pytest.mark.filterwarnings("ignore::gditd.promises.RareClassWarning")


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


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"alpha": "a tenth"}, ValueError, "alpha must lie between 0 and 1, got 'a tenth'"),
        ({"device": "gpu"}, ValueError, 'device must be "auto", "cpu", "cuda" or another that torch knows, got .gpu.'),
        ({"backbone": lambda n: n}, TypeError, "backbone must return a torch.nn.Module for [0-9]+ features, got "),
    ],
)
def test_settings_that_cannot_be_are_named(table, settings, error, message):
    with pytest.raises(error, match=message):
        quick(**settings).fit(*table)


def test_flags_that_hardly_any_row_has_are_no_fault():
    """Where a row teaches nobody, or only what leaves a class out, the others may be all alike."""
    flags = np.zeros((60, 1))
    flags[[7, 30]] = 1
    for seed in range(4):
        assert quick(preset="fast", max_epochs=1, random_state=seed).fit(flags, np.arange(60) % 3).summary()
