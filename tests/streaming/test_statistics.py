from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from gditd.streaming import statistics
from gditd.streaming.statistics import NumberStatistics, TextStatistics


@pytest.mark.parametrize("pieces", [1, 2, 7, 100])
def test_pieces_joined_measure_what_the_whole_does(pieces):
    rng = np.random.default_rng(0)
    values = 1e9 + rng.normal(size=1_000)  # a mean a billion times the spread: sums of squares would lose it
    values[rng.random(1_000) < 0.1] = np.nan
    found = NumberStatistics()
    for piece in np.array_split(values, pieces):
        found.add(NumberStatistics.of(piece))
    known = values[~np.isnan(values)]
    assert (found.count, found.missing) == (len(known), 1_000 - len(known))
    assert (found.minimum, found.maximum) == (known.min(), known.max())
    assert found.mean == pytest.approx(known.mean(), rel=1e-15)
    assert found.std == pytest.approx(known.std(), rel=1e-6)


def test_nothing_at_all():
    found = NumberStatistics.of(np.array([np.nan, np.nan]))
    found.add(NumberStatistics.of(np.array([])))
    assert (found.count, found.missing, found.varies) == (0, 2, False)
    assert np.isnan(found.std)


@pytest.mark.parametrize(
    ("texts", "kind", "disproved"),
    [
        (["1", "2.5", None], "number", []),
        (["true", "false"], "boolean", ["number"]),
        (["2024-01-01", "2024-02-01"], "datetime", ["number", "boolean"]),
        (["1", "2", "n/a"], "category", ["number", "boolean", "datetime"]),
    ],
)
def test_what_texts_can_be_read_as(texts, kind, disproved):
    found = TextStatistics()
    for text in texts:
        found.add(pa.array([text], pa.string()), lambda row: f"here, row {row + 1}")
    assert found.kind == kind
    assert set(disproved) <= set(found.witnesses)
    assert found.count + found.missing == len(texts)


def test_the_first_text_at_fault_is_named():
    found = TextStatistics()
    found.add(pa.array(["1", "x", "2", "y"]), lambda row: f"here, row {row + 1}")
    assert found.witnesses["number"] == 'here, row 2 holds "x"'
    endless = TextStatistics()
    endless.add(pa.array(["1", "inf"]), lambda row: f"here, row {row + 1}")
    assert (endless.kind, endless.endless) == ("number", 'here, row 2 holds "inf"')


def test_categories_stay_bounded(monkeypatch):
    monkeypatch.setattr(statistics, "MOST_CATEGORIES", 3)
    found = TextStatistics()
    for _ in range(2):
        found.add(pa.array(list("aabcde")), str)
    assert found.categories == {"a": 4, "b": 2, "c": 2}
    assert found.overflow
    assert found.count == 12
