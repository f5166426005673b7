from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gditd.labels import encode_labels


@pytest.mark.parametrize(
    "wrap",
    [
        list,
        np.array,
        lambda values: np.array(values, dtype=object),
        pd.Series,
        lambda values: pd.Series(values, dtype="category"),
        lambda values: pd.Series(values, index=[9, 3, 5, 1]),
        pl.Series,
        pa.array,
        lambda values: pa.chunked_array([values[:2], values[2:]]),
    ],
)
@pytest.mark.parametrize(
    ("values", "kind"),
    [(["b", "a", "c", "a"], "OU"), ([20, 10, 30, 10], "i"), ([2.0, -1.0, 3.0, -1.0], "f"), ([True, False] * 2, "b")],
)
def test_labels_of_every_form_become_sorted_classes(wrap, values, kind):
    classes, codes = encode_labels(wrap(values))
    assert classes.tolist() == sorted(set(values))
    assert classes.dtype.kind in kind
    assert codes.dtype == np.int64
    assert classes[codes].tolist() == values


def test_one_column_is_taken_with_a_warning():
    with pytest.warns(UserWarning, match="column-vector"):
        classes, _ = encode_labels(pd.DataFrame({"y": ["a", "b"]}))
    assert classes.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "a", None, "b", None],
        np.array(["a", "a", np.nan, "b", np.nan], dtype=object),
        [1.0, 1.0, np.nan, 2.0, np.nan],
        pd.Series([1, 1, None, 2, None], dtype="Int64"),
        pd.Series([True, True, None, False, None], dtype="boolean"),
        pd.Series(["a", "a", None, "b", None], dtype="category"),
        pl.Series(["a", "a", None, "b", None]),
        pa.array([1, 1, None, 2, None]),
        pa.array(["a", "a", None, "b", None]),
    ],
)
def test_a_row_without_a_label_is_named(labels):
    with pytest.raises(ValueError, match=r"row 3 has no label \(and 1 more\)"):
        encode_labels(labels)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "y is None"),
        ([1.0, np.inf, 2.0], "label of row 2 is infinite"),
        ([0.5, 1.5, 2.25], "continuous"),
        (np.array([1, "a", 2], dtype=object), r"labels of different types \(int, str\)"),
        (np.array(["a", 1], dtype=object), r"labels of different types \(int, str\)"),
        (np.array([datetime.date(2024, 1, 1)] * 2, dtype=object), "Unknown label type"),
        (np.zeros((3, 2)), "1d array"),
    ],
)
def test_labels_that_are_no_classes_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        encode_labels(labels)


def test_whole_decimals_become_integers():
    classes, codes = encode_labels([Decimal(2), Decimal("1.00"), Decimal(2)])
    assert classes.dtype.kind == "i"
    assert classes.tolist() == [1, 2]
    assert codes.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1.0, 1.5, 2.0], "Unknown label type: continuous; row 2 has the label 1.5.*make the labels text"),
        ([1.0, 2.0, 1e20], "Unknown label type: continuous; row 3 has the label 1e[+]20.*make the labels text"),
        ([1, 2**70], "Unknown label type: int; make the labels text"),
        ([Decimal(1), Decimal("1.5")], "Unknown label type: Decimal; make the labels text"),
        (["a", None, "b"], "row 2 has no label: Input y contains NaN; give every training row its class"),
    ],
)
def test_refusals_name_the_row_and_the_cure(labels, message):
    with pytest.raises(ValueError, match=message):
        encode_labels(labels)
