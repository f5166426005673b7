"""What holds for every detector."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gditd
from gditd.detectors.network import resolve_backbone
from tests.detectors.discovery import DETECTORS, ESTIMATORS, quick
from tests.detectors.tables import blobs

every_estimator = pytest.mark.parametrize("estimator_class", ESTIMATORS, ids=lambda found: found.__name__)


def test_discovery_finds_the_detectors_of_the_package():
    names = {found.__name__ for found in DETECTORS}
    assert {"GDITD", "Softmax", "Mahalanobis", "DeepMCDD", "ExtraTrees"} <= names


@every_estimator
@pytest.mark.parametrize("counts", [(60, 30, 12), (80, 5), (40,)], ids=["imbalanced", "two-class", "one-class"])
def test_shapes_and_labels(estimator_class, counts):
    X, y = blobs(counts)
    labels = np.array(["first", "second", "third"])[y]
    model = quick(estimator_class).fit(X, labels)
    assert model.classes_.tolist() == sorted(set(labels))
    assert set(model.predict(X)) <= set(labels)
    assert model.class_scores(X).shape == (len(X), len(counts))
    assert model.predict_proba(X).shape == (len(X), len(counts))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-5)
    assert model.ood_score(X).shape == (len(X),)
    assert np.isfinite(model.ood_score(X)).all()


@every_estimator
def test_one_row_gets_the_score_it_has_among_others(estimator_class):
    X, y = blobs((60, 30, 12))
    model = quick(estimator_class).fit(X, y)
    np.testing.assert_allclose(model.ood_score(X[7:8]), model.ood_score(X)[7:8], rtol=1e-4, atol=1e-5)
    assert model.predict(X[7:8]) == model.predict(X)[7:8]


@every_estimator
def test_constant_columns_do_no_harm(estimator_class):
    X, y = blobs((60, 30, 12))
    X = np.column_stack([np.full(len(X), 3e7), X, np.zeros(len(X))])
    model = quick(estimator_class, **({"max_epochs": 60} if estimator_class.__name__ != "ExtraTrees" else {}))
    assert model.fit(X, y).score(X, y) > 0.9
    assert np.isfinite(model.ood_score(X)).all()


@every_estimator
def test_extreme_values_give_finite_scores(estimator_class):
    X, y = blobs((60, 30, 12))
    model = quick(estimator_class).fit(X, y)
    extreme = np.where(np.eye(6, dtype=bool), 1e308, X[:6])
    assert np.isfinite(model.ood_score(extreme)).all()
    assert np.isfinite(model.class_scores(extreme)).all()


@every_estimator
def test_same_seed_same_bits(estimator_class):
    X, y = blobs((60, 30, 12))
    first, second = (quick(estimator_class, random_state=3).fit(X, y).ood_score(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@every_estimator
def test_clone_and_parameters(estimator_class):
    model = quick(estimator_class)
    copy = clone(model).set_params(random_state=5)
    assert copy.get_params() == model.get_params() | {"random_state": 5}


@every_estimator
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_saved_model_gives_the_same_bits(estimator_class, dtype, tmp_path):
    X, y = blobs((60, 30, 12))
    X = X.astype(dtype)
    model = quick(estimator_class).fit(X, np.array(["a", "b", "c"])[y])
    model.save(tmp_path / "model.gditd")
    loaded = gditd.load(tmp_path / "model.gditd")
    assert type(loaded) is type(model)
    assert loaded.random_state == model.random_state
    for method in ("predict", "predict_proba", "class_scores", "ood_score"):
        np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(model, method)(X))


@every_estimator
def test_pickled_model_gives_the_same_bits(estimator_class):
    X, y = blobs((60, 30, 12))
    model = quick(estimator_class).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).ood_score(X), model.ood_score(X))


@every_estimator
def test_pipelines_searches_and_cross_validation(estimator_class):
    X, y = blobs((60, 30, 12))
    pipeline = make_pipeline(StandardScaler(), quick(estimator_class))
    assert cross_val_score(pipeline, X, y, cv=2).shape == (2,)
    search = GridSearchCV(quick(estimator_class), {"random_state": [0, 1]}, cv=2).fit(X, y)
    assert search.best_params_["random_state"] in (0, 1)
    assert search.best_estimator_.ood_score(X).shape == (len(X),)


@pytest.mark.parametrize(("n_features", "embedded"), [(4, 32), (256, 32), (257, 64)])
def test_a_slim_network_is_wider_where_that_costs_hardly_anything(n_features, embedded):
    network = resolve_backbone("mlp-slim")(n_features)
    assert network(torch.zeros(2, n_features)).shape == (2, embedded)
