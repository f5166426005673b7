"""Networks see number columns as normal scores, everything else as they are encoded."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

import gditd
from gditd import GDITDClassifier
from gditd.lens import Lens
from gditd.tables import TableEncoder
from tests.raw_tables import small_backbone

pytestmark = pytest.mark.filterwarnings("ignore::gditd.promises.RareClassWarning")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "kind": rng.choice(["a", "b", "c"], size=400),
            "amount": np.exp(3 * rng.normal(size=400)),
            "gap": np.where(rng.random(400) < 0.2, np.nan, rng.normal(size=400)),
            "age": rng.integers(18, 90, size=400),
        }
    )


@pytest.fixture(scope="module")
def encoder(table):
    return TableEncoder().fit(table)


@pytest.fixture(scope="module")
def rows(encoder, table):
    return encoder.transform(table).values


@pytest.fixture(scope="module")
def lens(rows, encoder):
    return Lens.fit(rows, encoder)


def test_numbers_become_normal_and_all_else_stays(encoder, rows, lens):
    seen = lens(rows)
    numbers = encoder.number_features
    assert [encoder.feature_names[place] for place in numbers] == ["amount", "gap", "age"]
    others = np.setdiff1d(np.arange(encoder.width), numbers)
    assert torch.equal(seen[:, others], rows[:, others])
    amount = numbers[0]
    assert rows[:, amount].quantile(0.9) < 0.5  # most rows within half a standard deviation
    levels = torch.tensor([0.1, 0.25, 0.5, 0.75, 0.9])
    expected = torch.distributions.Normal(0.0, 1.0).icdf(levels)
    torch.testing.assert_close(seen[:, amount].quantile(levels), expected, atol=0.1, rtol=0)


def test_the_order_of_values_stays_also_where_there_were_none(rows, lens, encoder):
    amount = encoder.number_features[0]
    along = torch.zeros(50, encoder.width)
    along[:, amount] = torch.linspace(float(rows[:, amount].min()) - 10, float(rows[:, amount].max()) + 10, 50)
    assert (lens(along)[:, amount].diff() > 0).all()


def test_rows_are_not_written_to_and_do_not_depend_on_each_other(rows, lens):
    before = rows.clone()
    together = lens(rows)
    assert torch.equal(rows, before)
    assert torch.equal(torch.cat([lens(row[None]) for row in rows[:20]]), together[:20])


def test_a_lens_comes_back_from_its_state(rows, lens, encoder):
    assert torch.equal(Lens.from_state(lens.state(), encoder)(rows), lens(rows))


@pytest.mark.parametrize("damage", [lambda t: t[:-1], lambda t: t.float() if t.dtype == torch.float64 else t.double()])
@pytest.mark.parametrize("name", ["centre", "scale", "scores"])
def test_a_damaged_lens_is_refused(lens, encoder, name, damage):
    state = lens.state()
    with pytest.raises(ValueError, match="numbers"):
        Lens.from_state(state | {name: damage(state[name])}, encoder)


def test_a_table_of_categories_needs_none(table):
    encoder = TableEncoder().fit(table[["kind"]])
    assert Lens.fit(encoder.transform(table[["kind"]]).values, encoder) is None


def fitted(table, **settings):
    labels = np.where(table["amount"] > 1, "much", "little")
    return GDITDClassifier(backbone=small_backbone, max_epochs=2, random_state=0, **settings).fit(table, labels)


@pytest.mark.parametrize(
    ("settings", "has_lens"),
    [
        ({}, True),
        ({"views": "zeta"}, True),
        ({"numbers": "zscore"}, False),
        ({"numbers": "quantile"}, False),
        ({"preset": "fast"}, False),
        ({"preset": "paper"}, False),
    ],
)
def test_the_default_has_one_unless_numbers_are_chosen(table, settings, has_lens):
    assert (fitted(table, **settings).model_.cohort.lens is not None) == has_lens


def test_rows_held_out_do_not_shape_it(table):
    """They calibrate: a lens that knew them would make new rows look stranger than them."""
    model = fitted(table)
    lens = model.model_.cohort.lens
    everything = Lens.fit(model._encode(table).values, model.model_.encoder)
    assert not torch.equal(lens.scores.scores, everything.scores.scores)


def test_a_model_comes_back_with_its_lens(table, tmp_path):
    model = fitted(table)
    model.save(tmp_path / "model.gditd")
    again = gditd.load(tmp_path / "model.gditd", backbone=small_backbone)
    np.testing.assert_array_equal(again.ood_score(table), model.ood_score(table))
    assert torch.equal(again.model_.cohort.lens.scores.scores, model.model_.cohort.lens.scores.scores)
