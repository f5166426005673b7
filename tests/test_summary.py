import json

import pytest

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
