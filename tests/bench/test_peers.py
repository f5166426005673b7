"""Every peer detects, in the right direction, the same way twice."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from gditd.bench.peers import CHUNK, PEERS, ClassifyingPeer, NearestRow, Peer, in_chunks, peer
from gditd.bench.pyod_peers import PeerError, detector_modules, find_detector
from tests.detectors.discovery import ESTIMATORS, quick

# The lowest OOD AUROC allowed on the generated table: below it, a peer is wired wrongly rather than unlucky.
LOWEST_AUROC = {
    "random-forest": 0.98,
    "hist-gradient-boosting": 0.95,
    "isolation-forest": 0.99,
    "lof": 0.99,
    "knn": 0.99,
    "ecod": 0.9,
    "pyod:COPOD": 0.97,
    "pyod:HBOS": 0.98,
    "pyod:PCA": 0.98,
    "pyod:LODA": 0.98,
    "pyod:MCD": 0.9,
}
CLASSIFYING = {"random-forest", "hist-gradient-boosting"}

every_peer = pytest.mark.parametrize("name", LOWEST_AUROC)


def made(name, seed=0):
    """An unfitted peer; those of PyOD only where it is installed."""
    if name == "ecod" or name.startswith("pyod:"):
        pytest.importorskip("pyod")
    return peer(name, seed=seed)


def table():
    """Training rows of three imbalanced classes, their labels, as many new rows of them, and rows of a fourth kind.

    The fourth kind is far out in three columns and between all classes in three others, so that detectors of every
    sort can see it: those that measure distance, tails and doubt.
    """
    rng = np.random.default_rng(0)
    counts = (300, 150, 60)
    centers = np.zeros((4, 8))
    centers[np.arange(3), np.arange(3)] = 6.0
    centers[3, :6] = [2.0, 2.0, 2.0, 4.0, 4.0, 4.0]

    def draw(labels):
        return centers[labels] + rng.normal(size=(len(labels), 8))

    y = np.repeat(np.arange(3), counts)
    train, known, unseen = draw(y), draw(y), draw(np.full(60, 3))
    mean, spread = train.mean(axis=0), train.std(axis=0)
    scaled = [((rows - mean) / spread).astype(np.float32) for rows in (train, known, unseen)]
    return scaled[0], y, scaled[1], scaled[2]


def test_every_registered_peer_is_tested():
    assert set(PEERS) <= set(LOWEST_AUROC)


@every_peer
def test_strange_rows_score_higher(name):
    X, y, known, unseen = table()
    model = made(name).fit(X, y)
    scores = model.ood_score(np.concatenate([known, unseen]))
    truth = np.repeat([0, 1], [len(known), len(unseen)])
    assert scores.shape == truth.shape
    assert np.isfinite(scores).all()
    assert roc_auc_score(truth, scores) > LOWEST_AUROC[name]


@every_peer
def test_same_seed_same_bits(name):
    X, y, known, _ = table()
    first, second = (made(name, seed=3).fit(X, y).ood_score(known) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@every_peer
def test_fitting_again_forgets_the_first_time(name):
    X, y, known, unseen = table()
    model = made(name)
    first = model.fit(X, y).ood_score(known)
    model.fit(unseen, np.arange(len(unseen)) % 3)
    np.testing.assert_array_equal(model.fit(X, y).ood_score(known), first)


@every_peer
def test_only_classifiers_name_a_class(name):
    X, y, known, _ = table()
    model = made(name).fit(X, y)
    assert isinstance(model, Peer)
    assert isinstance(model, ClassifyingPeer) == (name in CLASSIFYING)
    if isinstance(model, ClassifyingPeer):
        assert np.mean(model.predict(known) == y) > 0.95
        assert model.predict_proba(known).shape == (len(known), 3)
        np.testing.assert_array_equal(model.predict_proba(known).argmax(axis=1), model.predict(known))


@pytest.mark.parametrize("estimator_class", ESTIMATORS, ids=lambda found: found.__name__)
def test_detectors_of_the_package_are_peers_as_they_are(estimator_class):
    assert isinstance(quick(estimator_class), ClassifyingPeer)


@pytest.mark.parametrize("n_rows", [0, 1, CHUNK, CHUNK + 1])
def test_chunks_cover_every_row_once(n_rows):
    X = np.arange(n_rows, dtype=np.float32).reshape(-1, 1)
    np.testing.assert_array_equal(in_chunks(lambda rows: rows[:, 0], X), X[:, 0])


def test_nearest_row_measures_the_distance_to_the_kth_row():
    X = np.array([[0.0], [1.0], [2.0], [10.0]], dtype=np.float32)
    y = np.zeros(4, dtype=np.int64)
    assert NearestRow(2).fit(X, y).ood_score(np.array([[11.0]])).tolist() == [9.0]
    assert NearestRow(5).fit(X, y).ood_score(np.array([[11.0]])).tolist() == [11.0]


def test_random_peers_take_the_seed():
    X, y, known, _ = table()
    first, second = (peer("isolation-forest", seed=seed).fit(X, y).ood_score(known) for seed in (0, 1))
    assert (first != second).any()


def test_unknown_names_list_what_is_known():
    with pytest.raises(PeerError, match=r"unknown peer 'nix'; known are random-forest, .*knn.* and pyod:NAME"):
        peer("nix", seed=0)


def test_unknown_names_of_pyod_list_what_is_known():
    pytest.importorskip("pyod")
    with pytest.raises(PeerError, match=r"PyOD has no detector 'nix' .*copod, .*hbos"):
        peer("pyod:nix", seed=0)


@pytest.mark.parametrize("name", ["ECOD", "ecod", "Ecod", "AutoEncoder", "auto_encoder", "MO_GAAL"])
def test_names_of_pyod_count_in_any_case(name):
    pytest.importorskip("pyod")
    if "auto" in name.lower():
        pytest.importorskip("tqdm", reason="PyOD's autoencoder needs tqdm")
    assert find_detector(name).__name__.lower() == name.lower().replace("auto_", "auto")


def test_pyod_lists_detectors_of_rows_only():
    pytest.importorskip("pyod")
    assert {"copod", "hbos", "knn", "pca"} <= set(detector_modules())
    assert not {"base", "base_dl", "ts_lstm", "pyg_scan", "thresholds"} & set(detector_modules())


def test_a_detector_that_needs_more_than_its_name_says_what():
    pytest.importorskip("pyod")
    with pytest.raises(PeerError, match="pyod:LSCP cannot be made from its name alone, it needs detector_list"):
        peer("pyod:LSCP", seed=0)


@pytest.mark.parametrize("name", ["ecod", "pyod:HBOS"])
def test_missing_pyod_names_the_cure(name, monkeypatch):
    for module in [key for key in sys.modules if key.split(".")[0] == "pyod"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pyod", None)
    with pytest.raises(PeerError, match=r"PyOD is not installed: pip install gditd\[bench\]"):
        peer(name, seed=0)


def test_pyod_takes_columns_that_nearly_repeat_each_other():
    pytest.importorskip("pyod")
    X, y, _, _ = table()
    noise = np.random.default_rng(1).normal(size=X.shape) * 1e-5
    doubled = np.column_stack([X, X + noise]).astype(np.float32)
    assert np.isfinite(peer("pyod:PCA", seed=0).fit(doubled, y).ood_score(doubled)).all()


@pytest.mark.parametrize("name", ["ecod", "pyod:PCA", "pyod:HBOS"])
def test_pyod_takes_constant_columns(name):
    X, y, known, unseen = (np.pad(part, ((0, 0), (0, 1))) if part.ndim == 2 else part for part in table())
    model = made(name).fit(X, y)
    scores = model.ood_score(np.concatenate([known, unseen]))
    assert roc_auc_score(np.repeat([0, 1], [len(known), len(unseen)]), scores) > LOWEST_AUROC[name]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_pyod_without_a_finite_score_says_why():
    pytest.importorskip("pyod")
    X, y, _, _ = table()
    repeated = np.column_stack([X, X, X])
    with pytest.raises(PeerError, match=r"pyod:PCA gives row 1 the score inf, .*repeat each other"):
        peer("pyod:PCA", seed=0).fit(repeated, y).ood_score(repeated)


def test_what_pyod_prints_stays_off_stdout(capsys):
    pytest.importorskip("pyod")
    pytest.importorskip("tqdm", reason="PyOD's autoencoder needs tqdm")
    X, y, _, _ = table()
    peer("pyod:AutoEncoder", seed=0).fit(X[::10], y[::10])
    assert capsys.readouterr().out == ""
