"""The small parts of a report, on cases worked by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from gditd.promises import RareClassWarning
from gditd.report.charts import Bar, Mark, bars
from gditd.report.charts.axis import LogScale, Scale, TailScale, round_ticks, short
from gditd.report.figures import UNSEEN, Scored, measured
from gditd.report.outcomes import outcome
from gditd.report.samples import Kept, Sample, first_of_groups
from gditd.report.sections.curves import thinned
from gditd.report.words import listed, name, percent
from tests.raw_tables import mixed_table, quick


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0, 97, [0, 20, 40, 60, 80]),
        (-3, 7, [-2, 0, 2, 4, 6]),
        (0.001, 0.0042, [0.001, 0.002, 0.003, 0.004]),
        (5, 5, [5]),
    ],
)
def test_ticks_are_round(low, high, expected):
    assert round_ticks(low, high) == pytest.approx(expected)


def test_scales():
    assert [Scale(0, 10, 100, 200)(value) for value in (-1, 0, 5, 10, 99)] == [100, 100, 150, 200, 200]
    assert Scale(3, 3, 0, 10)(3) == 5
    assert LogScale(1, 100, 0, 10)(10) == pytest.approx(5)
    tail = TailScale(-1, 1e6, 0, 400, middle=-1, unit=1)
    places = [tail(value) for value in (-1, 0, 10, 1e6)]
    assert places == sorted(places)
    assert places[1] > 20, "the usual values have room"
    ticks = [tail(value) for value, _ in tail.ticks()]
    assert len(ticks) >= 4
    assert np.diff(ticks).min() >= 40


def test_ticks_are_short():
    assert [short(value) for value in (0.0, -0.5, 20_000.0, 1e7, 2e-5)] == ["0", "−0.5", "20,000", "1e7", "2e−5"]  # noqa: RUF001


def test_classes_differ_in_mark_or_colour():
    assert len({Mark.of_class(c) for c in range(36)}) == 36


def test_bars_say_what_they_show():
    drawing = bars([Bar("a<b", 3, "3 rows"), Bar("c", 0, "none", limit=1.0)], title="T", unit="rows")
    assert 'aria-label="Bar chart. T: a&lt;b: 3 rows; c: none."' in drawing
    assert "a<b" not in drawing


def test_first_of_groups():
    groups = np.array([1, 0, 1, 1, 0])
    order = np.array([0.3, 0.5, 0.1, 0.2, 0.4])
    assert first_of_groups(groups, order, 2).tolist() == [1, 2, 3, 4]
    assert first_of_groups(groups, order, 1).tolist() == [2, 4]


def test_samples_do_not_depend_on_chunks():
    rng = np.random.default_rng(0)
    n = 500
    order, groups = rng.random(n), rng.integers(0, 3, n)

    def kept(chunk):
        sample = Sample(20)
        for start in range(0, n, chunk):
            own = slice(start, start + chunk)
            rows = pa.table({"x": np.arange(n)[own]})
            new = Kept(rows, np.arange(n)[own], groups[own], groups[own] > 1, order[own], order[own], order[own])
            sample.add(new, groups[own])
        return sample.kept.numbers.tolist()

    assert kept(500) == kept(7)
    assert len(kept(500)) == 60


def test_measured_by_hand():
    frame, labels = mixed_table()
    with pytest.warns(RareClassWarning):
        model = quick(max_epochs=1).fit(frame, labels)
    scored = Scored(
        classes=np.array([0, 0, 1, 2, UNSEEN, UNSEEN]),
        predicted=np.array([0, 1, 1, 2, 0, 0]),
        flagged=np.array([False, True, False, False, True, False]),
        p_value=np.array([0.9, 0.01, 0.5, 0.5, 0.01, 0.2], dtype=np.float32),
        ood_score=np.array([0.0, 5.0, 1.0, 2.0, 9.0, 3.0]),
        minority_score=np.array([0.9, 0.2, 0.1, 0.1, 0.0, 0.0]),
        label=np.array(["x", "y"], dtype=object),
    )
    figures = measured(model, scored, 0.05)
    assert (figures["n_rows"], figures["n_ood"]) == (6, 2)
    assert figures["id_accuracy"] == 0.75
    assert figures["balanced_accuracy"] == pytest.approx((0.5 + 1 + 1) / 3)
    assert figures["false_alarm_rate"] == 0.25
    assert figures["ood_recall"] == 0.5
    assert figures["ood_auroc"] == 7 / 8  # of eight pairs one is the wrong way round
    assert figures["classes"][0] == {
        "class": "low", "rows": 2, "accuracy": 0.5, "false_alarm_rate": 0.5, "promise": 0.05
    }  # fmt: skip
    assert figures["unseen_classes"] == [
        {"class": "x", "rows": 1, "ood_recall": 1.0},
        {"class": "y", "rows": 1, "ood_recall": 0.0},
    ]


@pytest.mark.parametrize(
    ("rows", "rate", "calibration_rows", "alone", "expected"),
    [
        (100, 0.05, 300, True, "kept"),
        (100, 0.08, 300, True, "chance"),
        (100, 0.30, 300, True, "broken"),
        (100_000, 0.054, 2_000, True, "chance"),  # 2,000 rows do not calibrate more finely
        (100_000, 0.054, 200_000, True, "broken"),
        (100, 0.30, 300, False, "together"),
        (0, None, 300, True, "none"),
    ],
)
def test_a_promise_is_broken_only_beyond_chance(rows, rate, calibration_rows, alone, expected):
    known = {"rows": rows, "false_alarm_rate": rate, "promise": 0.05}
    assert outcome(known, calibration_rows, alone=alone) == expected


def test_thinned_curves_keep_their_ends_and_shape():
    xs = np.linspace(0, 1, 100_000)
    points = thinned(xs, np.sqrt(xs))
    assert 250 < len(points) <= 302
    assert (points[0], points[-1]) == ((0, 0), (1, 1))
    assert max(b - a for (_, a), (_, b) in pairwise(points)) < 0.01


def test_words():
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcdefgh"), 3) == "a, b, c and 5 more"
    assert (percent(0.975), percent(None)) == ("97.5 %", "–")  # noqa: RUF001
    assert name("a\n b") == "a b"
    assert len(name("x" * 1_000)) == 80
