"""What views cost, and which of them a budget has room for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from gditd import GDITDClassifier
from gditd.presets import BUDGET, budget_of, tree_counts, view_names
from gditd.training import Cohort
from gditd.views.costs import MOST_TREES, affordable, costs_of_sources, filled_up
from gditd.views.lesson import Lesson
from gditd.views.looks import NETWORKS, ViewSet
from gditd.views.zeta import Zeta

pytestmark = pytest.mark.filterwarnings("ignore::gditd.promises.RareClassWarning")

SHARES = {"forest": 0.4, "networks": 0.3, "ferns": 0.2, "rivals": 0.1}
COSTS = {"forest": 900.0, "networks": 600.0, "ferns": 400.0, "rivals": 50.0}


@pytest.mark.parametrize(
    ("budget", "kept"),
    [
        (np.inf, {"forest", "networks", "ferns", "rivals"}),
        (1950.0, {"forest", "networks", "ferns", "rivals"}),
        (1949.0, {"forest", "networks", "ferns"}),
        (1899.0, {"forest", "networks", "rivals"}),
        (1499.0, {"forest", "ferns", "rivals"}),
        (1349.0, {"forest", "ferns"}),
        (1299.0, {"forest", "rivals"}),
        (949.0, {"forest"}),
        (1.0, {"forest"}),
    ],
)
def test_what_counts_most_is_kept_and_then_what_there_is_room_for(budget, kept):
    assert set(affordable(SHARES, COSTS, budget)) == kept


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 120)
    rows = 2.0 * rng.normal(size=(4, 8))[y] + rng.normal(size=(len(y), 8))
    return {
        preset: GDITDClassifier(preset=preset, max_epochs=4, random_state=0).fit(rows, y)
        for preset in ("default", "fast")
    }, rows


def everything(model):
    """The fusion with all its views counting alike."""
    fusion = model.model_.fusion
    return replace(fusion, weights=np.full(len(fusion.weights), 1 / len(fusion.weights)))


def test_every_source_has_a_cost_and_more_of_it_costs_more(fitted):
    default, fast = (fitted[0][name].model_ for name in ("default", "fast"))
    own, less = (costs_of_sources(model.fusion.views, model.cohort) for model in (default, fast))
    assert own.keys() == set(default.fusion.views.sources)
    assert less.keys() == set(fast.fusion.views.sources)
    assert less["mixed-forest"] < own["mixed-forest"]
    assert sum(less.values()) < sum(own.values()) / 2
    assert sum(less.values()) <= BUDGET


def test_a_fusion_keeps_within_its_budget(fitted):
    model = fitted[0]["default"]
    fusion, cohort = everything(model), model.model_.cohort
    costs = costs_of_sources(fusion.views, cohort)
    for budget in (np.inf, sum(costs.values()) - 1, max(costs.values()), 0.0):
        light = fusion.lightened(budget, cohort=cohort)
        own = costs_of_sources(light.views, cohort)
        assert sum(own.values()) <= budget or len(own) == 1
        assert light.weights.sum() == pytest.approx(1)
    assert len(costs) > 2


def test_forests_take_the_time_that_is_left(fitted):
    model, rows = fitted[0]["default"].model_, fitted[1]
    views = model.fusion.views.only(["mixed-forest", "forest", "fern-likelihood"])
    few = {"mixed-forest": 10, "mixed-ranges": 4, "forest": 10, "fern-likelihood": 8}
    y = np.repeat(np.arange(4), 120)
    lesson = Lesson(model.cohort, torch.from_numpy(rows).float(), y, np.arange(4), np.arange(8), seed=0)
    small = views.regrown(lesson, few)
    own = sum(costs_of_sources(small, model.cohort).values())
    for room in (300.0, 700.0):
        more = filled_up(few, small, model.cohort, own + room)
        grown = costs_of_sources(views.regrown(lesson, more), model.cohort)
        assert own + room / 2 < sum(grown.values()) < own + 1.1 * room  # trees are not all of one size
        assert more["mixed-forest"] == more["forest"] > few["forest"]
        assert (more["mixed-ranges"], more["fern-likelihood"]) == (4, 8)


def test_forests_stay_as_they_are_where_no_time_is_left_and_do_not_grow_without_end(fitted):
    model = fitted[0]["default"].model_
    views, trees = model.fusion.views, {"mixed-forest": 20, "mixed-ranges": 12, "forest": 20}
    assert filled_up(trees, views, model.cohort, 0.0) == trees
    assert filled_up(trees, views.only(["fern-likelihood"]), model.cohort, np.inf) == trees
    everywhere = filled_up(trees, views, model.cohort, 1e9)
    assert {everywhere[name] for name in views.forests} == {MOST_TREES}


def test_networks_run_only_where_somebody_asks_for_them(fitted, monkeypatch):
    model, rows = fitted[0]["default"], fitted[1]
    cohort, kept = model.model_.cohort, model.model_.fusion.views
    views = replace(kept, views={**kept.views, "zeta": Zeta(kept.classes)})
    values = model._encode(rows).values
    whole = views.look(cohort, values)
    without = views.only([name for name, source in zip(views.names, views.sources, strict=True) if source != NETWORKS])
    assert without.names
    assert NETWORKS in views.sources
    expected = whole.strangeness[:, [views.names.index(name) for name in without.names]]
    runs = []
    run = Cohort.layers_of
    monkeypatch.setattr(Cohort, "layers_of", lambda self, seen: runs.append(len(seen)) or run(self, seen))
    looks = without.look(cohort, values)
    np.testing.assert_array_equal(looks.strangeness, expected)
    assert not runs
    np.testing.assert_array_equal(looks.zeta, whole.zeta)
    assert sum(runs) == len(rows)
    forests = views.only(["mixed-forest"]).look(cohort, values)  # no other views at all
    assert forests.strangeness.shape == (len(rows), 2)


def test_trees_that_are_added_are_others_and_have_no_ranges(fitted):
    model, rows = fitted[0]["fast"].model_, fitted[1]
    values = fitted[0]["fast"]._encode(rows).values
    codes = np.repeat(np.arange(4), 120)
    lesson = Lesson(model.cohort, values, codes, np.arange(4), np.arange(values.shape[1]), 0)
    views = ViewSet.learn(lesson, ["mixed-forest"], {"mixed-forest": 20, "mixed-ranges": 12})
    assert views.filled_up(lesson, {"mixed-forest": 20, "mixed-ranges": 12}).forests == views.forests
    (old,), (new,) = (own.forests.values() for own in (views, views.filled_up(lesson, {"mixed-forest": 30})))
    assert len(new.trees.node_counts) == 30
    assert len({tuple(part) for part in np.split(new.trees.threshold, np.cumsum(new.trees.node_counts)[:-1])}) == 30
    np.testing.assert_array_equal(new.walk(values).surprise, old.walk(values).surprise)
    again = type(new).from_state(new.state(), 4)
    np.testing.assert_array_equal(again.walk(values).votes, new.walk(values).votes)


def test_few_views_have_the_plain_forest_and_more_trees_where_tables_are_wide():
    assert "forest" not in view_names("few", 256)
    assert "forest" in view_names("few", 257)
    assert set(view_names("few", 257)) - set(view_names("all", 257)) == {"drawn-in-rivals"}
    counts = [tree_counts("few", width)["mixed-forest"] for width in (1, 100, 600, 5_000)]
    assert counts == [20, 20, 25, 36]
    assert tree_counts("all", 1) == tree_counts("all", 5_000)


def test_reading_a_row_takes_time_and_wide_tables_have_more_of_it():
    assert budget_of("all", 10) is None
    assert budget_of("few", 100) < budget_of("few", 1) < BUDGET < budget_of("few", 1_000)
