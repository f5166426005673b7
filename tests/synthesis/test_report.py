"""The figures must be able to fail: a release that leaks is reported as one."""

import numpy as np
import pandas as pd
import pytest

from gditd.synthesis import measure_privacy, measure_utility, synthesize
from gditd.tables import to_arrow
from tests.raw_tables import mixed_table


@pytest.fixture(scope="module")
def real():
    frame, labels = mixed_table((150, 150, 200))
    return to_arrow(frame.assign(label=labels))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_a_mixture_is_no_copy(real, rng):
    privacy = measure_privacy(real, synthesize(real, "label", check=False).table, "label", rng)
    assert privacy.exact_copies == 0
    assert privacy.released_to_real.percentile_1 > 0.05
    assert privacy.released_to_real.median > 0.5 * privacy.real_to_real.median
    assert privacy.closer_share < 0.5


def test_copies_are_reported(real, rng):
    privacy = measure_privacy(real, real.take(list(range(0, 500, 2))), "label", rng)
    assert privacy.exact_copies == 250
    assert privacy.released_to_real.median == pytest.approx(0, abs=1e-3)
    assert privacy.closer_share == 1


def test_one_copy_among_mixtures_is_found(real, rng):
    released = synthesize(real, "label", check=False).table.to_pandas()
    leaky = to_arrow(pd.concat([released, real.to_pandas()[7:8]]).astype(released.dtypes))
    assert measure_privacy(real, leaky, "label", rng).exact_copies == 1


def test_near_copies_are_reported(real, rng):
    frame = real.to_pandas()
    frame["amount"] += 1e-4
    privacy = measure_privacy(real, to_arrow(frame), "label", rng)
    assert privacy.exact_copies == 0
    assert privacy.closer_share > 0.99


def test_suppressed_columns_do_not_make_rows_look_far(real, rng):
    codes = pd.Series([f"c{row % 150}" for row in range(500)])
    named = to_arrow(real.to_pandas().assign(code=codes))
    leaky = to_arrow(real.to_pandas().assign(code=pd.Series([None] * 500, dtype="str")))
    privacy = measure_privacy(named, leaky, "label", rng)
    assert privacy.closer_share == 1


def test_utility_is_that_of_real_rows_where_classes_are_clear(real, rng):
    utility = measure_utility(real, "label", rng, neighbours=5)
    assert (utility.train_rows, utility.test_rows) == (250, 250)
    assert utility.accuracy_real > 0.85
    assert utility.accuracy_synthetic > utility.accuracy_real - 0.06
    assert utility.balanced_accuracy_synthetic > 0.8


def test_utility_is_chance_where_columns_say_nothing(rng):
    frame = pd.DataFrame({"x": rng.normal(size=600), "y": rng.integers(0, 2, 600)})
    utility = measure_utility(to_arrow(frame), "y", rng, neighbours=5)
    assert utility.accuracy_real == pytest.approx(0.5, abs=0.1)
    assert utility.accuracy_synthetic == pytest.approx(0.5, abs=0.1), "tested on rows it was not made from"


def test_one_class_has_no_utility(real, rng):
    one = real.filter(np.array(real.column("label").to_pylist()) == "top")
    assert measure_utility(one, "label", rng, neighbours=5) is None


def test_large_tables_are_sampled(rng, monkeypatch):
    from gditd.synthesis import report

    monkeypatch.setattr(report, "DISTANCE_ROWS", 50)
    monkeypatch.setattr(report, "UTILITY_ROWS", 100)
    frame, labels = mixed_table((12, 300, 300))
    table = to_arrow(frame.assign(label=labels))
    utility = measure_utility(table, "label", rng, neighbours=5)
    assert utility.train_rows + utility.test_rows == pytest.approx(108, abs=2), "ten rows of the rare class are kept"
    assert measure_privacy(table, table, "label", rng).exact_copies == 612
