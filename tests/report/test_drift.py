"""Drift is told by a rule that can be worked out by hand, and chance is not drift."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gditd.inputs import new_table
from gditd.report.drift import DriftWatch
from tests.raw_tables import quick

pytestmark = pytest.mark.filterwarnings("ignore::gditd.promises.RareClassWarning")


def table(n, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "category": rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]),
            "flag": rng.random(n) < 0.3,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 100, n), unit="D"),
            "gap": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        }
    )


@pytest.fixture(scope="module")
def model():
    return quick(max_epochs=1, calibration="none", rule="sign").fit(table(1_000, 0), np.arange(1_000) % 2)


def drifts(model, frame, chunk=1_000_000):
    watch = DriftWatch(model)
    rows = new_table(model, frame)
    for start in range(0, rows.num_rows, chunk):
        watch.add(rows.slice(start, chunk))
    return {drift.column: drift for drift in watch.drifts()}


@pytest.mark.parametrize("n", [20, 200, 2_000])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_same_kind_of_rows_has_not_drifted(model, n, seed):
    assert [drift for drift in drifts(model, table(n, seed)).values() if drift.changes] == []


def test_each_rule(model):
    new = table(1_000, 1)
    new["number"] += 5.0
    new.loc[:499, "category"] = "z"
    new["flag"] = True
    new.loc[:299, "gap"] = np.nan
    new["day"] += pd.Timedelta(days=50)
    found = drifts(model, new)
    assert next(iter(found)) in ("category", "number"), "the largest change comes first"
    assert "median" in " ".join(change.words for change in found["number"].changes)
    assert any("outside the training range" in change.words for change in found["number"].changes)
    # Half of the values are new, and 1 % are allowed: fifty times the limit.
    assert found["category"].times_limit == pytest.approx(50)
    assert found["category"].changes[0].words.startswith("50 % of the values are categories")
    before = model.model_.encoder.schema_["flag"].mean
    assert found["flag"].times_limit == pytest.approx((1 - before) / 0.1)
    assert found["gap"].missing == pytest.approx(new["gap"].isna().mean())
    assert "missing" in found["gap"].changes[0].words
    assert any("median 2024-0" in change.words for change in found["day"].changes)


def test_chunks_change_nothing(model):
    new = table(500, 1).assign(number=9.0)
    assert drifts(model, new) == drifts(model, new, chunk=7)


def test_a_column_that_is_all_missing(model):
    found = drifts(model, table(100, 1).assign(number=np.nan))
    assert [change.words for change in found["number"].changes] == ["100 % missing, 0 % in training"]
