"""Models that were saved and loaded again."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gditd
from gditd import presets
from tests.classifier.cases import PRESETS, with_text
from tests.raw_tables import quick, small_backbone

pytestmark = pytest.mark.filterwarnings("ignore::gditd.promises.RareClassWarning")


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


@pytest.mark.parametrize("backbone", ["mlp", "mlp-64", "mlp-slim", "residual"])
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
