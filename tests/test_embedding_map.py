"""The map tells what the verdicts tell: known rows in their class's circle, strange ones in none."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import gditd
from gditd.embedding_map import EmbeddingMap, class_limits
from tests.raw_tables import mixed_table, quick, trained

pytestmark = pytest.mark.filterwarnings("ignore::gditd.promises.RareClassWarning")


def blobs(n_classes, each=40, seed=0):
    """Classes around corners of a cube; and rows far from all of them."""
    rng = np.random.default_rng(seed)
    corners = 6.0 * ((np.arange(n_classes)[:, None] >> np.arange(4)) & 1)
    y = np.repeat(np.arange(n_classes), each)
    rows = corners[y] + rng.normal(size=(len(y), 4))
    return rows, np.array([f"class {c}" for c in y]), rng.normal(size=(30, 4)) * 3 - 60


def depths(drawn, points):
    """How deep each point lies in each circle, (n, circles): below 1 is inside."""
    centers = np.array([[circle.x, circle.y] for circle in drawn.circles])
    radii = np.array([circle.radius for circle in drawn.circles])
    return np.linalg.norm(points[:, None] - centers, axis=2) / radii


@pytest.fixture(scope="module", params=[1, 2, 3, 11])
def case(request):
    rows, labels, far = blobs(request.param, each=80 if request.param == 1 else 40)
    return trained(max_epochs=25, calibration="split").fit(rows, labels), rows, labels, far


def test_known_rows_lie_in_their_circle_and_far_rows_in_none(case):
    model, rows, labels, far = case
    drawn = EmbeddingMap.of(model)
    assert [circle.label for circle in drawn.circles] == model.classes_.tolist()
    inside = depths(drawn, drawn.place(rows)) < 1
    own = inside[np.arange(len(rows)), np.searchsorted(model.classes_, labels)]
    assert own.mean() > 0.85
    outside = depths(drawn, drawn.place(far))
    assert outside.min() > 1
    assert np.abs(drawn.place(far)).max() < 40, "the map stays readable"


def test_a_row_lies_where_its_verdict_says(case):
    model, rows, _, far = case
    drawn = EmbeddingMap.of(model)
    table = np.concatenate([rows, far, rows + 2.5])
    inside = depths(drawn, drawn.place(table)) < 1
    expected = model.verdict(table)["verdict"].to_numpy()[:, None] == model.classes_
    assert np.array_equal(inside, expected)


def test_circles_lie_apart(case):
    circles = EmbeddingMap.of(case[0]).circles
    assert all(circle.radius > 0 for circle in circles)
    for a, b in combinations(circles, 2):
        assert np.hypot(a.x - b.x, a.y - b.y) > a.radius + b.radius


def test_rows_are_placed_alike_alone_and_among_others(case):
    model, rows, _, far = case
    drawn = EmbeddingMap.of(model)
    table = np.concatenate([rows, far])
    among_others = drawn.place(table)[::17]
    alone = np.concatenate([drawn.place(table[row : row + 1]) for row in range(0, len(table), 17)])
    np.testing.assert_allclose(alone, among_others, atol=1e-5)
    assert drawn.place(table[:0]).shape == (0, 2)


def test_the_same_map_from_a_file(case, tmp_path):
    model, rows, _, far = case
    if callable(model.backbone):
        model = gditd.GDITDClassifier(preset="fast", max_epochs=3, random_state=0).fit(rows, case[2])
    model.save(tmp_path / "m.gditd")
    drawn, again = EmbeddingMap.of(model), EmbeddingMap.of(gditd.load(tmp_path / "m.gditd"))
    assert drawn.circles == again.circles
    assert np.array_equal(drawn.place(far), again.place(far))


@pytest.mark.parametrize(
    "settings",
    [
        {"preset": "paper", "max_epochs": 10},
        {"calibration": "cross", "n_members": 3},
        {"n_members": 3, "alpha": 0.2},
        {"calibration": "split", "rule": "sign"},
    ],
)
def test_every_rule_and_calibration(settings):
    frame, labels = mixed_table()
    model = quick(**settings).fit(frame, labels)
    drawn = EmbeddingMap.of(model)
    strange = frame.assign(amount=1e30, region="nowhere")
    table = pd.concat([frame, strange.head(5)])
    inside = depths(drawn, drawn.place(table)) < 1
    assert np.array_equal(inside, model.verdict(table)["verdict"].to_numpy()[:, None] == model.classes_)
    assert np.isfinite(drawn.place(table)).all()


def test_unreadable_rows_and_classes_too_rare_to_reject():
    frame, labels = mixed_table((1, 3, 20))
    model = quick(on_error="ood").fit(frame, labels)
    drawn = EmbeddingMap.of(model)
    broken = frame.astype({"amount": object}).head(2)
    broken.loc[0, "amount"] = "many"
    places = drawn.place(broken)
    assert (depths(drawn, places[:1]) > 1).all()


def test_limits_are_where_verdicts_change():
    frame, labels = mixed_table()
    model = quick().fit(frame, labels)
    limits = class_limits(model, 0.1)
    rejected = model.model_.scored(model._encode(frame).values).classes < limits
    assert np.array_equal(rejected, model.p_values(frame) < 0.1)
