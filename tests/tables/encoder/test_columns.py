"""Columns that are dropped, ignored, missing or hold what does not fit."""

import math

import numpy as np
import pyarrow as pa
import pytest
import torch

from gditd.tables import TableEncoder, TableError
from tests.tables.encoder.cases import MODES, encode, make_table, one


def test_constant_columns_are_dropped_and_may_be_absent():
    table = make_table()
    encoder = TableEncoder().fit(table)
    assert "same" not in encoder.column_slices
    assert torch.equal(encode(encoder, table), encode(encoder, table.drop_columns(["same"])))
    with pytest.raises(TableError, match="nothing can be learned"):
        TableEncoder().fit(table.select(["same"]))


@pytest.mark.parametrize("numbers", MODES)
def test_slices_cover_the_columns(numbers):
    encoder = TableEncoder(numbers=numbers).fit(make_table())
    places = [place for part in encoder.column_slices.values() for place in range(part.start, part.stop)]
    shared = encoder.feature_names.index("unexpected missing")
    assert sorted([*places, shared]) == list(range(encoder.width))
    for name, part in encoder.column_slices.items():
        assert all(label.startswith(name) for label in encoder.feature_names[part])
    base = make_table(1)
    other = {"colour": "red", "size": 9.0, "gaps": 3.3, "flag": True, "shop": "shop 1", "note": "no"}
    for name, value in other.items():
        for seen in ([value], [None]):
            changed = base.set_column(base.column_names.index(name), name, pa.array(seen, base[name].type))
            moved = (encode(encoder, base) != encode(encoder, changed))[0].nonzero().flatten().tolist()
            part = encoder.column_slices[name]
            assert set(moved) - {shared} <= set(range(part.start, part.stop))


@pytest.mark.parametrize("numbers", MODES)
def test_training_rows_are_finite_and_of_moderate_size(numbers):
    encoder = TableEncoder(numbers=numbers).fit(make_table())
    encoded = encode(encoder, make_table())
    assert encoded.dtype == torch.float32
    assert encoded.shape == (500, encoder.width) == (500, len(encoder.feature_names))
    assert encoded.isfinite().all()
    assert encoded.abs().max() < 10
    assert (encoded[:, encoder.feature_names.index("unexpected missing")] == 0).all()


def test_columns_in_any_order_and_extra_columns_with_a_note():
    table = make_table()
    encoder = TableEncoder().fit(table)
    wanted = encoder.transform(table)
    assert wanted.notes == []
    mixed = table.select(table.column_names[::-1]).append_column("new", pa.array(range(500)))
    encoded = encoder.transform(mixed)
    assert torch.equal(encoded.values, wanted.values)
    assert encoded.notes == ['ignored 1 column not seen in training: "new"']


def test_ignored_columns():
    table = make_table()
    encoder = TableEncoder().fit(table, ignore=["shop"])
    assert "shop" not in encoder.column_slices


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("size", ["1", "2", "tall"], 'column "size", row 3: "tall" is not a number'),
        ("size", ["1", "+2.5", "1_000"], 'column "size", row 3: "1_000" is not a number'),
        ("size", [1.0, math.inf, 2.0], 'column "size", row 2: inf is not a finite number'),
        ("size", ["1", "2", "-inf"], 'column "size", row 3: -inf is not a finite number'),
        ("gaps", [None, 1.0, -math.inf], 'column "gaps", row 3: -inf is not a finite number'),
        ("size", [[1], [2], [3]], 'column "size", row 1: a value of type list'),
    ],
)
def test_values_that_do_not_fit(name, values, message):
    table = make_table()
    encoder = TableEncoder().fit(table)
    broken = table.slice(0, 3).set_column(table.column_names.index(name), name, pa.array(values))
    with pytest.raises(ValueError, match=message.replace("+", r"\+")):
        encoder.transform(broken)
    with pytest.raises(TableError, match=message):
        encoder.raw_tensors(broken)
    encoded = encoder.transform(broken, on_error="ood")
    assert message in "\n".join(encoded.row_errors.values())
    assert encoded.values.isfinite().all()


def test_on_error_ood_lists_the_rows_and_leaves_the_others_alone():
    table = make_table(70_000)
    encoder = TableEncoder().fit(table)
    size = table["size"].to_numpy().astype(object)
    size[[5, 66_000]] = "tall"
    frame = table.to_pandas()
    frame["size"] = size
    encoded = encoder.transform(frame, on_error="ood")
    assert encoded.row_errors == {row: f'column "size", row {row + 1}: "tall" is not a number' for row in (5, 66_000)}
    same = (encoded.values == encode(encoder, table)).all(1)
    assert (~same).nonzero().flatten().tolist() == [5, 66_000]
    nothing = {name: [None] for name in table.column_names}
    assert torch.equal(encoded.values[5:6], encode(encoder, pa.table(nothing)))
    with pytest.raises(TableError, match="row 1006"):
        encoder.transform(frame, rows_before=1_000)


def test_missing_columns():
    table = make_table(5)
    encoder = TableEncoder().fit(make_table())
    with pytest.raises(ValueError, match='the table lacks columns "size", "note"'):
        encoder.transform(table.drop_columns(["size", "note"]))
    with pytest.raises(TableError, match='lacks column "size"'):
        encoder.raw_tensors(table.drop_columns(["size"]))
    encoded = encoder.transform(table.drop_columns(["size"]), on_error="ood")
    assert list(encoded.row_errors) == [0, 1, 2, 3, 4]
    assert 'lacks column "size"' in encoded.row_errors[0]
    assert encoded.values.isfinite().all()


def test_column_names_may_be_anything():
    table = pa.table({"": [1.0, 2.0], "größe 😀": ["x", "y"], "a\nb": [True, False]})
    encoder = TableEncoder().fit(table)
    assert list(encoder.column_slices) == ["", "a\nb", "größe 😀"]


def test_settings_are_checked():
    with pytest.raises(ValueError, match="zscore, quantile, piecewise"):
        TableEncoder(numbers="minmax")
    with pytest.raises(ValueError, match="at least"):
        TableEncoder(max_categories=0)
    with pytest.raises(ValueError, match="on_error"):
        one([1.0, 2.0]).transform(pa.table({"a": [1.0]}), on_error="skip")


@pytest.mark.parametrize("bad", [{}, {5: "many"}, {5: "inf"}, {5: " 7 "}, {5: ""}, {5: None}, {3: "1_0", 9: "x"}])
def test_text_columns_are_read_together_as_they_are_one_by_one(bad, monkeypatch):
    rng = np.random.default_rng(0)
    train = pa.table({name: rng.normal(size=50) for name in "abc"})
    encoder = TableEncoder().fit(train)
    columns = {name: [str(value) for value in rng.normal(size=20)] for name in "abc"}
    for row, text in bad.items():
        columns["b"][row] = text
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    together = encoder.transform(table, on_error="ood")
    monkeypatch.setattr(TableEncoder, "_plain_numbers", lambda *_: None)
    one_by_one = encoder.transform(table, on_error="ood")
    assert together.row_errors == one_by_one.row_errors
    assert torch.equal(together.values, one_by_one.values)


def test_a_list_is_no_category():
    train = pa.table({"word": ["x", "y"] * 30, "n": range(60)})
    encoder = TableEncoder().fit(train)
    lists = pa.table({"word": [None, ["x"]], "n": [1, 2]})
    with pytest.raises(TableError, match=r'column "word", row 2: a value of type list<.*> where a category'):
        encoder.transform(lists)
    assert list(encoder.transform(lists, on_error="ood").row_errors) == [1]
