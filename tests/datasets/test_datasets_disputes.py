"""Simulated disputes: sizes, seeds, and that their classes are neither trivial nor hopeless to tell apart."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from gditd.datasets import dataset_names, load_dataset, make_disputes
from gditd.datasets.disputes import available_features, generator
from gditd.datasets.disputes.behaviours import BEHAVIOURS
from gditd.datasets.disputes.cases import simulate_cases
from gditd.datasets.disputes.columns import WINDOWS, columns_of


@pytest.fixture(scope="module")
def disputes():
    return make_disputes(5_000)


def test_the_papers_classes_and_columns(disputes):
    assert disputes.X.shape == (5_000, 943)
    assert disputes.X.dtype == np.float32
    assert np.isfinite(disputes.X).all()
    assert disputes.class_counts() == {"first-party fraud": 400, "third-party fraud": 2_300, "legitimate": 2_300}
    assert (disputes.ood_class, disputes.minority_class) == ("legitimate", "first-party fraud")
    assert len(set(disputes.feature_names)) == 943
    assert {"amount_mean_30d_online", "claim_delay_days", "cardholder_tenure_months"} <= set(disputes.feature_names)
    assert (disputes.X.std(axis=0) > 0).all(), "every column varies"


@pytest.mark.parametrize("n_rows", [50, 51, 99, 143_670])
def test_classes_are_8_to_46_to_46(n_rows):
    counts = generator.class_counts(n_rows)
    assert sum(counts.values()) == n_rows
    for share, count in zip((0.08, 0.46, 0.46), counts.values(), strict=True):
        assert abs(count - share * n_rows) <= 1


def test_the_same_seed_gives_the_same_bits():
    first, again, other = (make_disputes(400, 60, seed) for seed in (3, 3, 4))
    assert first.X.tobytes() == again.X.tobytes()
    assert (first.y == again.y).all()
    assert not np.isin(first.X[:, 0], other.X[:, 0]).any()


def test_fewer_columns_are_the_first_ones():
    few, many = make_disputes(60, 20), make_disputes(60, 1_000)
    assert few.feature_names == many.feature_names[:20] == available_features()[:20]


def test_no_simulated_case_is_released():
    released = {row.tobytes() for row in make_disputes(2_500, 120).X}
    n_cases = 0
    for block in generator.blocks(2_500, 0):
        cases = generator.simulated(block.label, len(block.rows), 120, np.random.default_rng(block.seed))
        n_cases += len(cases)
        assert not released & {row.tobytes() for row in cases}
    assert n_cases == 2_500


def test_blocks_deal_out_every_row_once():
    blocks = list(generator.blocks(9_999, 0))
    assert sorted(np.concatenate([block.rows for block in blocks])) == list(range(9_999))
    assert max(len(block.rows) for block in blocks) <= generator.BLOCK
    assert len({tuple(block.seed.spawn_key) for block in blocks}) == len(blocks)


@pytest.fixture(scope="module")
def split(disputes):
    """Z-scored training rows, test rows and OOD rows, and the first two's classes; trained on the two frauds."""
    is_ood = disputes.y == disputes.ood_class
    known, y = disputes.X[~is_ood], disputes.y[~is_ood]
    train, test, y_train, y_test = train_test_split(known, y, test_size=0.3, stratify=y, random_state=0)
    scaler = StandardScaler().fit(train)
    return (*(scaler.transform(rows) for rows in (train, test, disputes.X[is_ood][:1_500])), y_train, y_test)


def test_a_linear_model_is_good_but_not_perfect(split):
    train, test, _, y_train, y_test = split
    accuracy = LogisticRegression(max_iter=300).fit(train, y_train).score(test, y_test)
    assert 0.90 < accuracy < 0.99, "guessing the larger class gets 85.2 %"


def test_density_finds_legitimate_disputes_in_part(split):
    train, test, ood, _, _ = split
    is_ood = np.repeat([0, 1], [len(test), len(ood)])
    shown = np.concatenate([test, ood])
    distances = NearestNeighbors(n_neighbors=10, algorithm="brute").fit(train).kneighbors(shown)[0].mean(axis=1)
    assert 0.60 < roc_auc_score(is_ood, distances) < 0.95
    gaussian = PCA(50, svd_solver="randomized", random_state=0).fit(train)
    assert 0.60 < roc_auc_score(is_ood, -gaussian.score_samples(shown)) < 0.95


def test_columns_follow_from_purchases():
    cases = simulate_cases("third-party fraud", 40, np.random.default_rng(0))
    columns = dict(columns_of(cases))
    bought = cases.purchases
    recent = bought.there & (bought.day < 30)
    np.testing.assert_array_equal(columns["count_30d_all"], recent.sum(axis=1))
    np.testing.assert_allclose(columns["amount_sum_30d_all"], (bought.amount * recent).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(columns["amount_max_30d_all"], (bought.amount * recent).max(axis=1), rtol=1e-5)
    at_atm = recent & (bought.channel == 2)
    shares = np.divide((at_atm & bought.new_merchant).sum(axis=1), np.maximum(at_atm.sum(axis=1), 1))
    np.testing.assert_allclose(columns["new_merchant_share_30d_atm"], shares)
    counts = np.stack([columns[f"count_{window}d_online"] for window in WINDOWS])
    assert (np.diff(counts, axis=0) >= 0).all(), "a longer window holds the shorter ones"


def test_every_class_has_several_behaviours():
    for behaviours in BEHAVIOURS.values():
        assert len(behaviours) >= 4
        assert sum(one.share for one in behaviours.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"n_rows": 49}, "n_rows=49 is too few"),
        ({"n_features": 19}, "n_features=19 is not possible: ask for 20 to"),
        ({"n_features": 5_000}, "n_features=5000 is not possible: ask for 20 to"),
    ],
)
def test_what_cannot_be_made_is_refused(arguments, part, raises):
    with raises("disputes", part):
        make_disputes(**arguments)


def test_the_name_loads_it_without_a_folder(monkeypatch, raises):
    assert "disputes" in dataset_names()
    monkeypatch.delenv("GDITD_DATA", raising=False)
    monkeypatch.setattr(generator, "make_disputes", lambda: make_disputes(60, 20))
    assert load_dataset("disputes").X.shape == (60, 20)
    with raises("disputes has no source 'files'", "simulation"):
        load_dataset("disputes", source="files")


def test_the_default_is_the_papers_size():
    assert make_disputes.__defaults__ == (143_670, 943, 0)
    assert len(available_features()) >= 943
