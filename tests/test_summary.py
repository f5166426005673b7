import json

import pytest

from gditd.summary import forecast_words
from tests.raw_tables import mixed_table, quick


@pytest.mark.parametrize(
    ("settings", "method", "proven"),
    [
        ({}, "split", "Proven (split calibration)"),
        ({"calibration": "cross", "n_members": 3}, "cross", "alpha itself (0.05) is not proven"),
        ({"rule": "sign", "calibration": "none"}, "none", "Nothing is proven"),
        ({"rule": "sign"}, "split", "Nothing is proven"),
    ],
)
def test_says_what_is_proven_and_no_more(settings, method, proven):
    table, labels = mixed_table((70, 80, 110))
    model = quick(ignore=("gap",), **settings).fit(table, labels)
    summary = json.loads(json.dumps(model.summary(), allow_nan=False))
    assert summary["calibration"] == method
    assert proven in summary["proven"]
    assert summary["ignored"] == ["gap"]
    assert summary["members"] == settings.get("n_members", 1)
    assert [known["class"] for known in summary["classes"]] == ["low", "middle", "top"]
    promises = [known["promise"] for known in summary["classes"]]
    assert (promises == [None] * 3) == (settings.get("rule") == "sign")
    assert [column["column"] for column in summary["columns"]] == ["amount", "items", "region", "member", "day"]


@pytest.mark.parametrize(("low", "high", "warned"), [(0.1, 1.0, True), (0.7, 1.0, False), (0.3, 0.8, False)])
def test_a_forecast_that_says_nothing_says_so(low, high, warned):
    forecast = {"left_out": [1, 2], "auroc": 0.8, "low": low, "high": high, "recall": 0.4, "alpha": 0.05}
    words = forecast_words(forecast)
    assert f"range {low:.1%} to {high:.1%}" in words
    assert ("say little about the next one" in words) == warned
