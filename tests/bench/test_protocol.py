"""How tables are split."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from gditd.bench import BenchError, Experiment
from gditd.bench.protocol import Cell, cells, left_out, split
from gditd.bench.tables import BenchTable

COUNTS = {"a": 50, "b": 100, "c": 40, "d": 30, "odd": 2}


def table(**roles):
    labels = np.repeat(list(COUNTS), list(COUNTS.values()))
    labels = np.random.default_rng(0).permutation(labels)
    return BenchTable("t", pa.table({"x": np.arange(len(labels))}), labels, {c: c for c in COUNTS}, **roles)


def cell(**changes):
    return dataclasses.replace(Cell("c", "a", 1.0, 1, 5, 0), **changes)


def test_folds_share_out_the_known_rows_and_hold_the_class_out():
    made = table()
    splits = [split(made, cell(fold=fold)) for fold in range(1, 6)]
    tested = np.concatenate([one.test for one in splits])
    assert len(np.unique(tested)) == len(tested) == 180
    for one in splits:
        assert not set(one.train) & set(one.test)
        assert set(made.labels[one.train]) == set(made.labels[one.test]) == {"a", "b", "d"}
        assert set(made.labels[one.ood]) == {"c"}
        assert len(one.ood) == 40
        assert np.count_nonzero(made.labels[one.test] == "a") == 10


def test_mdsr_keeps_a_share_drawn_before_the_folds():
    made = table()
    known = {}
    for mdsr in (1.0, 0.5, 0.2, 0.01):
        one = split(made, cell(mdsr=mdsr))
        rows = np.concatenate([one.train, one.test])
        known[mdsr] = set(rows[made.labels[rows] == "a"])
        assert np.count_nonzero(made.labels[rows] == "b") == 100
    assert [len(kept) for kept in known.values()] == [50, 25, 10, 5]  # a row for each of the five folds
    assert known[0.2] < known[0.5] < known[1.0]


def test_splits_depend_on_the_cell_alone():
    one, same, other = split(table(), cell()), split(table(), cell()), split(table(), cell(seed=1))
    np.testing.assert_array_equal(one.train, same.train)
    assert not np.array_equal(one.train, other.train)


def test_a_class_with_fewer_rows_than_folds_takes_no_part():
    made = table()
    assert left_out(made, 5) == ["odd"]
    one = split(made, cell())
    assert "odd" not in made.labels[np.concatenate([one.train, one.test, one.ood])]


def test_cells_are_every_combination():
    experiment = Experiment(dataset="t", methods=("softmax",), ood_classes=("c", "d"), mdsr=(1.0, 0.1), seeds=(0, 1))
    made = cells(experiment, table())
    assert len(made) == len(set(made)) == 2 * 2 * 2 * 5
    assert {one.minority_class for one in made if one.ood_class == "c"} == {"d"}  # the rarest known class
    assert {one.minority_class for one in made if one.ood_class == "d"} == {"c"}
    only = cells(dataclasses.replace(experiment, only_folds=(2,)), table())
    assert {one.fold for one in only} == {2}


def test_roles_come_from_the_data_set_unless_chosen():
    plain = Experiment(dataset="t", methods=("softmax",))
    made = cells(plain, table(ood_class="b", minority_class="a"))
    assert {(one.ood_class, one.minority_class) for one in made} == {("b", "a")}
    held_out = cells(dataclasses.replace(plain, ood_classes=("a",)), table(ood_class="b", minority_class="a"))
    assert {(one.ood_class, one.minority_class) for one in held_out} == {("a", "d")}


def test_a_minority_class_too_rare_to_be_known_is_refused():
    """It is in no fold, so the figure reported for it would be that of another class."""
    chosen = Experiment(dataset="t", methods=("softmax",), ood_classes=("c",), minority_class="odd")
    own = dataclasses.replace(chosen, minority_class=None)
    for experiment, made in ((chosen, table()), (own, table(minority_class="odd"))):
        with pytest.raises(BenchError, match="minority class 'odd' of t has 2 rows, fewer than --folds 5: choose"):
            cells(experiment, made)
    enough = cells(dataclasses.replace(chosen, folds=2), table())
    assert {one.minority_class for one in enough} == {"odd"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "--ood-class: say which class of t plays the unknown one: a, b, c, d, odd"),
        ({"ood_classes": ("z",)}, "--ood-class: t has no class 'z'; its classes are a, b, c, d, odd"),
        ({"ood_classes": ("a",), "minority_class": "z"}, "--minority-class: t has no class 'z'"),
        ({"ood_classes": ("a",), "minority_class": "a"}, "--minority-class: class 'a' is held out of training"),
    ],
)
def test_wrong_classes_are_refused(changes, message):
    with pytest.raises(BenchError, match=message):
        cells(Experiment(dataset="t", methods=("softmax",), **changes), table())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ()}, "at least one method"),
        ({"mdsr": (0.0,)}, "above 0 and at most 1, got 0.0"),
        ({"mdsr": (1.5,)}, "above 0 and at most 1, got 1.5"),
        ({"folds": 1}, "folds must be at least 2"),
        ({"only_folds": (6,)}, "there is no fold 6: they are numbered from 1 to 5"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"max_rows": 0}, "max_rows must be at least 1"),
        ({"seeds": (-1,)}, "a seed lies between"),
    ],
)
def test_wrong_settings_are_refused(changes, message):
    with pytest.raises(BenchError, match=message):
        Experiment(**{"dataset": "t", "methods": ("softmax",)} | changes)


def test_one_known_class_is_too_few():
    labels = np.repeat(["a", "b"], 20)
    made = BenchTable("t", pa.table({"x": np.arange(40)}), labels, {"a": "a", "b": "b"})
    with pytest.raises(BenchError, match="needs two known classes besides the OOD class 'b'"):
        split(made, Cell("b", "a", 1.0, 1, 5, 0))
