from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator

from gditd.inputs import is_frame, new_rows, new_table, training_table
from gditd.tables.grid import Grid
from tests.raw_tables import as_python_rows, mixed_table, quick


class Probe(BaseEstimator):
    """An estimator that only remembers what it was shown."""


def seen(X):
    probe = Probe()
    return probe, training_table(probe, X)


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (pd.DataFrame({"a": [1]}), True),
        (pl.DataFrame({"a": [1]}), True),
        (pl.LazyFrame({"a": [1]}), True),
        (pa.table({"a": [1]}), True),
        (pa.record_batch({"a": [1]}), True),
        ([{"a": 1}], True),
        (({"a": 1}, {"b": 2}), True),
        ([], False),
        ([[1, 2]], False),
        ([{"a": 1}, [2]], False),
        (np.zeros((2, 2)), False),
        ("text", False),
        (None, False),
    ],
)
def test_frames_are_known_by_their_named_columns(X, expected):
    assert is_frame(X) is expected


def test_names_and_number_of_columns_are_remembered():
    probe, table = seen(pd.DataFrame({"b": [1, 2], 7: ["x", "y"]}))
    assert table.column_names == ["b", "7"]
    assert probe.feature_names_in_.tolist() == ["b", "7"]
    assert probe.n_features_in_ == 2
    probe, table = seen(np.zeros((3, 4)))
    assert table.column_names == ["x0", "x1", "x2", "x3"]
    assert probe.n_features_in_ == 4
    assert not hasattr(probe, "feature_names_in_")


@pytest.mark.parametrize(
    ("X", "size"),
    [
        (pd.DataFrame(index=range(5)), "0 rows and 0 columns"),
        (pd.DataFrame({"a": [1]}), "1 rows and 1 columns"),
        (pa.table({"a": pa.array([])}), "0 rows and 1 columns"),
    ],
)
def test_a_table_too_small_to_learn_from_is_refused(X, size):
    with pytest.raises(ValueError, match=f"{size} is too small"):
        seen(X)


def test_arrays_follow_the_rules_of_scikit_learn():
    probe, _ = seen(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="has 3 features, but Probe is expecting 4"):
        new_table(probe, np.zeros((3, 3)))
    with pytest.raises(ValueError, match="Expected 2D array"):
        new_table(probe, np.zeros(4))
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        seen(np.zeros((1, 4)))
    assert new_table(probe, np.zeros((0, 4))).num_rows == 0


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_arrays_get_the_names_of_the_training_frame():
    probe, _ = seen(pd.DataFrame({"b": [1.0, 2.0], "a": [3.0, 4.0]}))
    assert new_table(probe, np.array([[5.0, 6.0]])).to_pylist() == [{"b": 5.0, "a": 6.0}]


def test_frames_are_taken_by_position_where_training_had_no_names():
    probe, _ = seen(np.zeros((3, 2)))
    assert new_table(probe, pd.DataFrame({"p": [1], "q": [2]})).to_pylist() == [{"x0": 1, "x1": 2}]
    with pytest.raises(ValueError, match="3 columns, but the model learned from 2 columns without names"):
        new_table(probe, pd.DataFrame({"p": [1], "q": [2], "r": [3]}))


def test_object_arrays_hold_values_of_any_plain_kind():
    moment = datetime.datetime(2024, 5, 1, 12)
    rows = np.array(
        [[1, "u", True, moment, decimal.Decimal("1.5"), 2.0], [2.5, None, False, None, None, pd.NA]], dtype=object
    )
    _, table = seen(rows)
    assert table.to_pylist() == [
        {"x0": 1.0, "x1": "u", "x2": True, "x3": moment, "x4": decimal.Decimal("1.5"), "x5": 2.0},
        {"x0": 2.5, "x1": None, "x2": False, "x3": None, "x4": None, "x5": None},
    ]


@pytest.mark.parametrize("cell", [{"a": 1}, [1], object()])
def test_cells_that_are_no_plain_value_are_refused(cell):
    rows = np.array([["u", 1.0], ["v", 2.0]], dtype=object)
    probe, _ = seen(rows)
    rows = rows.copy()
    rows[1, 0] = cell
    with pytest.raises(TypeError, match=f"a cell holds a {type(cell).__name__}"):
        seen(rows)
    with pytest.raises(TypeError, match=f"a cell holds a {type(cell).__name__}"):
        new_table(probe, rows)


@pytest.mark.filterwarnings("ignore::gditd.promises.RareClassWarning")
def test_a_code_keeps_its_zeros_whatever_the_company():
    """A table whose cells all read as numbers must not turn the category "07" into a seven."""
    rng = np.random.default_rng(0)
    rows = np.array([[rng.normal(), code] for code in ["07", "x1"] * 30], dtype=object)
    model = quick().fit(rows, np.arange(60) % 2)
    together = model.ood_score(rows)
    np.testing.assert_array_equal(model.ood_score(rows[::2]), together[::2])


@pytest.mark.filterwarnings("ignore")
def test_pandas_gaps_of_every_kind_are_the_same_gap():
    frame, y = mixed_table()
    nullable = frame.convert_dtypes()
    model = quick().fit(frame, y)
    np.testing.assert_array_equal(model.ood_score(nullable), model.ood_score(frame))
    np.testing.assert_array_equal(model.ood_score(nullable.to_numpy(dtype=object)), model.ood_score(frame))
    np.testing.assert_array_equal(model.ood_score(as_python_rows(frame).to_numpy()), model.ood_score(frame))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("named", [False, True])
def test_new_arrays_of_numbers_stay_arrays_and_others_become_tables(named):
    probe, _ = seen(pd.DataFrame(np.eye(2), columns=["p", "q"]) if named else np.eye(2))
    array = np.eye(2)
    rows = new_rows(probe, array)
    assert isinstance(rows, Grid)
    assert np.shares_memory(rows.values, array)
    assert rows.column_names == new_table(probe, array).column_names == (["p", "q"] if named else ["x0", "x1"])
    for other in (array.astype(bool), array.astype(object), pd.DataFrame(array, columns=rows.column_names)):
        assert isinstance(new_rows(probe, other), pa.Table)
