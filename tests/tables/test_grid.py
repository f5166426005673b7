import warnings

import numpy as np
import pytest
import torch

from gditd.tables import TableEncoder, TableError, to_arrow
from gditd.tables.grid import Grid

NAMES = ["a", "b", "c", "d"]
MODES = ["zscore", "quantile", "piecewise"]


def numbers(rows=200, seed=0):
    return np.random.default_rng(seed).normal(20, 30, (rows, len(NAMES)))


def grid(values):
    made = Grid.of(values, NAMES)
    assert made is not None
    return made


def spaced(values):
    """The same, with two bytes more between one row and the next."""
    packed = np.zeros(len(values), [("more", "i2"), ("own", values.dtype, values.shape[1])])
    packed["own"] = values
    return packed["own"]


def sealed(values):
    values = values.copy()
    values.flags.writeable = False
    return values


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("training", ["full", "gaps", "constant", "flags"])
def test_encodes_like_the_arrow_table_of_the_same_numbers(mode, training):
    learned = numbers()
    if training == "gaps":
        learned[::5, 1] = np.nan
    elif training == "constant":
        learned[:, 1] = 7.0
    elif training == "flags":
        learned[:, 1] = learned[:, 1] > 0
    encoder = TableEncoder(numbers=mode).fit(to_arrow(learned, NAMES))
    new = numbers(300, seed=1)
    new[:, 1] = new[:, 1] > 20
    gaps = np.where(np.random.default_rng(2).random(new.shape) < 0.1, np.nan, new)
    huge = new.copy()
    huge[:2, 0] = 1.7e308, -1.7e308
    for values in (new, gaps, huge, new[:1], new[:0]):
        assert torch.equal(encoder.transform(grid(values)).values, encoder.transform(to_arrow(grid(values))).values)


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"])
def test_every_type_of_number(kind):
    encoder = TableEncoder().fit(to_arrow(numbers(), NAMES))
    new = np.abs(numbers(seed=1)).clip(max=100).astype(kind)
    if kind in ("i8", "u8"):
        new[0] = 2**62 + 12345  # no float64 has all its digits
    assert torch.equal(encoder.transform(grid(new)).values, encoder.transform(to_arrow(new, NAMES)).values)


@pytest.mark.parametrize("kind", ["?", "f2", ">f8", "c16", "O", "U3", "M8[s]"])
def test_nothing_but_plain_numbers(kind):
    assert Grid.of(np.zeros((2, 4)).astype(kind), NAMES) is None


def test_nothing_but_rows_and_a_name_for_each_column():
    assert Grid.of(np.zeros(4), NAMES) is None
    assert Grid.of(np.zeros((2, 3)), NAMES) is None


@pytest.mark.parametrize(
    "lie",
    [np.asfortranarray, spaced, sealed, lambda values: values[::-1][::-1], lambda values: values[::-1].copy()[::-1]],
)
def test_any_memory_layout_and_no_warning(lie):
    encoder = TableEncoder().fit(to_arrow(numbers(), NAMES))
    new = numbers(seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(encoder.transform(grid(lie(new))).values, encoder.transform(to_arrow(new, NAMES)).values)


def test_the_array_is_left_as_it_is():
    encoder = TableEncoder().fit(to_arrow(numbers(), NAMES))
    new = numbers(seed=1)
    new[3, 0], new[5, 1] = np.nan, np.inf
    before = new.copy()
    encoder.transform(grid(new), on_error="ood")
    np.testing.assert_array_equal(new, before)


def test_infinite_numbers_are_named_as_in_any_table():
    encoder = TableEncoder().fit(to_arrow(numbers(), NAMES))
    new = numbers(seed=1)
    new[3, 0], new[7, 2] = np.nan, -np.inf
    with pytest.raises(TableError, match='column "c", row 18: -inf is not a finite number'):
        encoder.transform(grid(new), rows_before=10)
    found, wanted = (encoder.transform(rows, on_error="ood") for rows in (grid(new), to_arrow(new, NAMES)))
    assert found.row_errors == wanted.row_errors == {7: 'column "c", row 8: -inf is not a finite number'}
    assert torch.equal(found.values, wanted.values)


def test_columns_in_any_order_absent_and_extra_ones():
    learned = numbers()
    encoder = TableEncoder().fit(to_arrow(learned[:, :3], NAMES[:3]))
    turned = Grid.of(learned[:, ::-1], NAMES[::-1])
    encoded = encoder.transform(turned)
    assert encoded.notes == ['ignored 1 column not seen in training: "d"']
    assert torch.equal(encoded.values, encoder.transform(to_arrow(learned[:, :3], NAMES[:3])).values)
    with pytest.raises(TableError, match='lacks column "a"'):
        encoder.transform(Grid.of(learned[:, 1:], NAMES[1:]))
