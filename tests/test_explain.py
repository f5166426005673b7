"""Explanations name the columns in which something was planted, and survive a file."""

from __future__ import annotations

import datetime
import json
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import gditd
from gditd import GDITDClassifier
from gditd.explain import Explainer
from gditd.explain.examples import stratified
from gditd.explain.surprise import ClassShapes
from tests.raw_tables import as_python_rows, mixed_table, quick, small_backbone

pytestmark = pytest.mark.filterwarnings("ignore::gditd.promises.RareClassWarning")

CLASSES = ["account-takeover", "first-party", "legitimate", "merchant"]
NUMBERS = ["amount", "fee", "account_age", "logins", "distance", "hour", "credit_score", "noise"]


def disputes(counts, seed):
    """Payments in dispute: skewed and related numbers, two habits of the day, categories, a date, gaps."""
    rng = np.random.default_rng(seed)
    parts = []
    for c, n in enumerate(counts):
        size = rng.normal(size=n)  # ties amount, fee and logins together
        amount = np.exp([5.5, 4.5, 3.5, 4.0][c] + 0.6 * size + 0.15 * rng.normal(size=n))
        score = rng.normal([650, 600, 700, 550][c], 30, n)
        morning = rng.random(n) < 0.5
        channels = [[0.9, 0.05, 0.04, 0.01], [0.2, 0.75, 0.04, 0.01], [0.55, 0.4, 0.04, 0.01], [0.05, 0.05, 0.3, 0.6]]
        countries = [[0.05, 0.05, 0.1, 0.1, 0.7], [0.3, 0.3, 0.2, 0.19, 0.01], [0.5, 0.2, 0.2, 0.09, 0.01]]
        countries.append([0.1, 0.1, 0.5, 0.29, 0.01])
        columns = {
            "amount": amount,
            "fee": amount * 0.03 * np.exp(0.1 * rng.normal(size=n)),
            "account_age": [700, 500, 900, 120][c] * np.exp(0.4 * rng.normal(size=n)),
            "logins": rng.poisson([25, 8, 4, 3][c] * np.exp(0.3 * size)).astype(float),
            "distance": np.abs(rng.normal([300, 10, 5, 20][c], [80, 5, 3, 10][c], n)),
            "hour": np.where(morning, rng.normal(10, 1.2, n), rng.normal([3, 20, 19, 15][c], 1.2, n)) % 24,
            "credit_score": np.where(rng.random(n) < 0.1, np.nan, score),
            "noise": rng.normal(size=n),
            "channel": rng.choice(["web", "app", "phone", "branch"], n, p=channels[c]),
            "country": rng.choice(["DE", "FR", "IT", "ES", "US"], n, p=countries[c]),
            "verified": (rng.random(n) < [0.1, 0.9, 0.97, 0.6][c]).astype(object),
            "opened": np.datetime64("2024-01-01") + (rng.random(n) * 300).astype("timedelta64[D]"),
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True), np.repeat(CLASSES, counts)


def far_outside(row, own, train, rng):
    columns = rng.choice(NUMBERS, rng.integers(1, 3), replace=False).tolist()
    for column in columns:
        row[column] = train[column].max() + rng.uniform(1, 3) * train[column].std()
    return columns


def wrong_for_the_class(row, own, train, rng):
    """A value that is ordinary for another class."""
    low, high = own[NUMBERS].quantile(0.05), own[NUMBERS].quantile(0.95)
    room = (high - low) / 2
    medians = train.groupby("class")[NUMBERS].median()
    strange = [
        (column, value)
        for column in NUMBERS
        for value in medians[column]
        if not low[column] - room[column] < value < high[column] + room[column]
    ]
    column, value = strange[rng.integers(len(strange))]
    row[column] = value
    return [column]


def unseen_category(row, own, train, rng):
    column = rng.choice(["channel", "country"])
    row[column] = "never seen"
    return [column]


def rare_combination(row, own, train, rng):
    """A large amount with a small fee, or the other way round; each is usual for the class."""
    level = rng.choice([0.05, 0.95])
    row["amount"], row["fee"] = own["amount"].quantile(level), own["fee"].quantile(1 - level)
    return ["amount", "fee"]


def unexpected_gap(row, own, train, rng):
    column = rng.choice([name for name in row if name != "credit_score"])
    row[column] = None
    return [column]


PLANTS = [far_outside, wrong_for_the_class, unseen_category, rare_combination, unexpected_gap]


def hit_rates(preset):
    """The share of rows, by kind, in which exactly the planted columns come first."""
    X, y = disputes((150, 500, 1500, 60), seed=0)
    model = GDITDClassifier(preset=preset, random_state=0).fit(X, y)
    new, labels = disputes((40, 40, 40, 40), seed=1)
    normal = (model.verdict(new)["verdict"] == labels).to_numpy()
    train = X.assign(**{"class": y})
    rng = np.random.default_rng(2)
    rates = {}
    for plant in PLANTS:
        rows = as_python_rows(new[normal]).to_dict("records")
        own = [train[train["class"] == label] for label in labels[normal]]
        planted = [plant(row, same, train, rng) for row, same in zip(rows, own, strict=True)]
        hits = [
            {reason.column for reason in found.columns[: len(columns)]} == set(columns)
            for found, columns in zip(model.explain(rows), planted, strict=True)
        ]
        rates[plant.__name__] = float(np.mean(hits))
    return rates


def nan(tensor):
    return torch.full_like(tensor, float("nan"))


DAMAGES = {
    "means": lambda tensors, document: tensors.update(means=tensors["means"][:, 1:]),
    "no number": lambda tensors, document: tensors.update(variances=nan(tensors["variances"])),
    "not positive": lambda tensors, document: tensors.update(variances=-tensors["variances"]),
    "no relations": lambda tensors, document: tensors.pop("precision"),
    "quantiles": lambda tensors, document: tensors.update(quantiles=tensors["quantiles"][1:]),
    "share": lambda tensors, document: tensors.update(missing=tensors["missing"] + 2),
    "categories": lambda tensors, document: document.update(categories={}),
    "class": lambda tensors, document: tensors.update({"examples.codes": tensors["examples.codes"] + 9}),
    "too few": lambda tensors, document: tensors.update({"examples.codes": tensors["examples.codes"][1:]}),
    "no text": lambda tensors, document: tensors.update({"examples.rows": tensors["examples.rows"][1:]}),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_parts_are_refused(mixed, damage):
    _, _, model = mixed
    document, tensors = model.model_.explainer.state(keep_examples=True)
    settings = {"encoder": model.model_.encoder, "n_classes": len(model.classes_)}
    Explainer.from_state(document, tensors, **settings)
    DAMAGES[damage](tensors, document)
    with pytest.raises((ValueError, KeyError)):
        Explainer.from_state(document, tensors, **settings)


@pytest.mark.parametrize("preset", ["fast", "default"])
def test_planted_columns_come_first(preset):
    rates = hit_rates(preset)
    print(preset, {kind: round(rate, 3) for kind, rate in rates.items()})
    assert np.mean(list(rates.values())) >= 0.9, rates
    assert min(rates.values()) >= 0.75, rates


@pytest.fixture(scope="module")
def mixed():
    X, y = mixed_table()
    return X, y, quick().fit(X, y)


def strange_row(X):
    row = X.iloc[:1].copy()
    row["amount"] = 80.0
    return row


def test_an_explanation_says_what_was_seen_and_what_is_usual(mixed):
    X, _, model = mixed
    row = strange_row(X)
    (found,) = model.explain(row, n_columns=6)
    verdict = model.verdict(row)
    assert (found.known_class, found.ood_score) == (verdict["known_class"][0], verdict["ood_score"][0])
    assert found.compared_with in model.classes_
    reasons = {reason.column: reason for reason in found.columns}
    assert found.columns[0].column == "amount"
    assert set(reasons) == set(X.columns)
    shares = [reason.share for reason in found.columns]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1)
    assert reasons["amount"].value == 80.0
    assert " to " in reasons["amount"].usual and "median" in reasons["amount"].usual
    assert "%" in reasons["region"].usual and '"' in reasons["region"].usual
    assert reasons["member"].usual.endswith("% true")
    assert reasons["day"].usual.startswith("2024-")
    assert isinstance(reasons["day"].value, datetime.datetime)
    assert "amount = 80" in str(found) and found.columns[0].usual in str(found)
    assert json.loads(json.dumps(found.to_dict()))["columns"][0]["column"] == "amount"


def test_the_usual_values_are_those_of_the_class(mixed):
    X, y, model = mixed
    of_class = X["amount"][y == "top"].quantile([0.05, 0.5, 0.95])
    place = model.classes_.tolist().index("top")
    np.testing.assert_allclose(model.model_.explainer.profiles.quantiles[place, 0], of_class, atol=0.5)
    shares = dict(model.model_.explainer.profiles.categories["region"][place])
    assert shares["west"] == pytest.approx((X["region"][y == "top"].dropna() == "west").mean())


def test_missing_values_are_none_and_unexpected_ones_are_named(mixed):
    X, _, model = mixed
    row = X.iloc[:1].astype({"items": float}).assign(items=np.nan)
    first = model.explain(row)[0].columns[0]
    assert (first.column, first.value) == ("items", None)
    assert first.usual.endswith(", never missing")


def test_two_gaps_share_the_blame(mixed):
    X, _, model = mixed
    row = X.iloc[:1].astype({"items": float}).assign(items=np.nan, amount=np.nan)
    assert {reason.column for reason in model.explain(row)[0].columns[:2]} == {"items", "amount"}


@pytest.mark.parametrize("n_columns", [0, -1, 2.5, "all"])
def test_n_columns_must_be_a_count(mixed, n_columns):
    X, _, model = mixed
    with pytest.raises(ValueError, match="n_columns must be a whole number of at least 1"):
        model.explain(X[:2], n_columns=n_columns)


def test_tables_of_every_kind_get_the_same_explanations(mixed):
    X, _, model = mixed
    rows = X.iloc[[3, 70, 150]].reset_index(drop=True)
    expected = [found.to_dict() for found in model.explain(rows)]
    assert [found.to_dict() for found in model.explain(pl.from_pandas(rows))] == expected
    assert [found.to_dict() for found in model.explain(as_python_rows(rows).to_dict("records"))] == expected
    alone = [model.explain(rows[place : place + 1])[0].to_dict() for place in range(3)]
    assert [found["columns"][0]["column"] for found in alone] == [f["columns"][0]["column"] for f in expected]


def test_arrays_have_columns_by_number():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    X = rng.normal(size=(200, 4)) + 3 * y[:, None]
    strange = np.where(np.arange(4) == 2, 50.0, X[:1])
    for model in (quick().fit(X, y), quick(preset="paper").fit(X, y)):
        (found,) = model.explain(strange, n_columns=1)
        assert [reason.column for reason in found.columns] == ["x2"]
        assert found.columns[0].value == 50.0
        assert type(found.known_class) is int


def test_rows_that_cannot_be_read_are_explained_by_their_error(mixed):
    X, y, _ = mixed
    model = quick(on_error="ood").fit(X, y)
    rows = as_python_rows(X.iloc[:3])
    rows.loc[1, "amount"] = "plenty"
    good, bad, also_good = model.explain(rows)
    assert good.error is None and also_good.error is None and good.columns and also_good.columns
    assert 'column "amount", row 2' in bad.error and "plenty" in str(bad)
    assert (bad.columns, bad.similar, bad.compared_with) == ([], None, None)
    without_a_column = model.explain(rows.drop(columns="items"))
    assert all("items" in found.error and not found.columns for found in without_a_column)
    json.dumps(bad.to_dict())


def test_the_most_similar_row_is_a_training_row(mixed):
    X, y, model = mixed
    found = model.explain(strange_row(X))[0]
    twins = as_python_rows(X.assign(day=X["day"].dt.strftime("%Y-%m-%dT%H:%M:%S"))).to_dict("records")
    assert found.similar in twins
    assert found.similar_class == y[twins.index(found.similar)]
    itself = model.explain(X[5:6])[0].similar
    assert itself == twins[5]


def test_a_file_holds_no_row_unless_asked_to(mixed, tmp_path):
    X, _, model = mixed
    model.save(tmp_path / "model.gditd")
    loaded = gditd.load(tmp_path / "model.gditd", backbone=small_backbone)
    for found, expected in zip(loaded.explain(X[:9]), model.explain(X[:9]), strict=True):
        assert found.similar is None and found.similar_class is None
        assert found.to_dict() == expected.to_dict() | {"similar": None, "similar_class": None}
    assert not any("examples" in name for name in model._tensors())


def test_a_file_with_examples_gives_the_same_explanations(mixed, tmp_path):
    X, y, _ = mixed
    model = quick(keep_examples=True).fit(X, y)
    model.save(tmp_path / "model.gditd")
    loaded = gditd.load(tmp_path / "model.gditd", backbone=small_backbone)
    assert [found.to_dict() for found in loaded.explain(X[:9])] == [f.to_dict() for f in model.explain(X[:9])]
    assert torch.equal(loaded.model_.explainer.examples.values, model.model_.explainer.examples.values)


def test_examples_of_every_kind_of_column_come_back(tmp_path):
    n = 40
    rng = np.random.default_rng(0)
    X = pl.DataFrame(
        {
            "moment": [datetime.datetime(2024, 1, 1, 8, 30, tzinfo=datetime.UTC)] * (n - 1) + [None],
            "day": [datetime.date(2024, 1, 1 + place % 28) for place in range(n)],
            "time": [datetime.time(place % 24, 15) for place in range(n)],
            "took": [datetime.timedelta(seconds=place * 1.5) for place in range(n)],
            "text": [["a", "b", "", None][place % 4] for place in range(n)],
            "number_as_text": [str(place) for place in range(n)],
            "flag": [[True, False, None][place % 3] for place in range(n)],
        }
    )
    model = quick(keep_examples=True).fit(X, rng.integers(2, size=n))
    model.save(tmp_path / "model.gditd")
    loaded = gditd.load(tmp_path / "model.gditd", backbone=small_backbone)
    assert torch.equal(loaded.model_.explainer.examples.values, model.model_.explainer.examples.values)
    assert [found.to_dict() for found in loaded.explain(X)] == [found.to_dict() for found in model.explain(X)]


def test_what_a_file_says_of_a_rare_class_is_nobodys_row(mixed):
    X, y, _ = mixed
    labels = y.copy()
    labels[:2] = "rare"
    model = quick().fit(X, labels)
    rare = model.classes_.tolist().index("rare")
    rows = model.model_.encoder.transform(X).values
    assert not (model.model_.explainer.shapes.means[:, None] == rows).all(2).any()
    everyone = model.model_.explainer.profiles.quantiles[-1]
    np.testing.assert_array_equal(model.model_.explainer.profiles.quantiles[rare], everyone)
    assert model.explain(X[:2])[0].columns


def test_examples_keep_rare_classes():
    codes = np.repeat([0, 1, 2], [10_000, 300, 5])
    kept = stratified(codes, 2_000)
    assert len(kept) == 2_000
    assert np.bincount(codes[kept])[1:].tolist() == [300, 5]


def test_surprise_is_in_squared_standard_deviations():
    rng = np.random.default_rng(0)
    values = torch.from_numpy(rng.normal(size=(5_000, 2)).astype(np.float32)) * torch.tensor([1.0, 2.0])
    shapes = ClassShapes.learn(values, np.zeros(5_000, dtype=np.int64), 1)
    np.testing.assert_allclose(shapes.variances, [[1.01, 4.01]], rtol=0.1)
    np.testing.assert_allclose(shapes.precision, torch.diag(1 / shapes.variances[0]), atol=0.05)


def test_a_hundred_wide_rows_take_a_moment():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=600)
    centres = rng.normal(size=(3, 100))
    X = centres[y] + rng.normal(size=(600, 100))
    model = quick(max_epochs=20).fit(X, y)
    new = centres[y[:100]] + rng.normal(size=(100, 100))
    new[np.arange(100), np.arange(100)] += 12
    start = time.perf_counter()
    found = model.explain(new)
    assert time.perf_counter() - start < 3
    assert np.mean([one.columns[0].column == f"x{place}" for place, one in enumerate(found)]) >= 0.9


def test_extreme_values_have_finite_shares():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = quick().fit(X, np.arange(60) % 2)
    found = model.explain(np.where(np.eye(3, dtype=bool), 1e308, X[:3]))
    assert [one.columns[0].column for one in found] == ["x0", "x1", "x2"]
    assert all(0 <= reason.share <= 1 for one in found for reason in one.columns)
