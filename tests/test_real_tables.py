"""The classifier on real tables, split as the paper splits them. Skipped where GDITD_DATA is not set."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from gditd import GDITDClassifier
from gditd.datasets import load_dataset

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif("GDITD_DATA" not in os.environ, reason="GDITD_DATA does not name a folder with real tables"),
]


def first_fold(name, ood_class):
    """Training rows, known test rows and unseen rows of the first of five folds."""
    dataset = load_dataset(name)
    X, y = np.asarray(dataset.X), np.asarray(dataset.y)
    known = np.flatnonzero(y != ood_class)
    train, test = next(iter(StratifiedKFold(5, shuffle=True, random_state=0).split(known, y[known])))
    train, test = known[train], known[test]
    return X[train], y[train], X[test], y[test], X[y == ood_class]


def auroc_and_accuracy(model, known, truth, unseen):
    scores = np.concatenate([model.ood_score(known), model.ood_score(unseen)])
    is_ood = np.repeat([0, 1], [len(known), len(unseen)])
    return 100 * roc_auc_score(is_ood, scores), 100 * np.mean(model.predict(known) == truth)


def test_the_paper_on_mnist():
    X, y, known, truth, unseen = first_fold("mnist", ood_class=0)
    model = GDITDClassifier(preset="paper", max_epochs=20, random_state=0).fit(X, y)
    auroc, accuracy = auroc_and_accuracy(model, known, truth, unseen)
    assert auroc >= 91
    assert accuracy >= 96.5


def test_the_default_on_gas():
    X, y, known, truth, unseen = first_fold("gas", ood_class=0)
    model = GDITDClassifier(random_state=0).fit(X, y)
    auroc, accuracy = auroc_and_accuracy(model, known, truth, unseen)
    assert auroc >= 98
    assert accuracy >= 99
    false_alarms = (model.verdict(known)["verdict"] == "OOD").groupby(truth).mean()
    assert (false_alarms <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 300)).all()


def test_shuttle_with_classes_of_ten_rows_fits_and_keeps_its_promise():
    dataset = load_dataset("shuttle")
    X, y = np.asarray(dataset.X), np.asarray(dataset.y)
    train, test = next(iter(StratifiedKFold(2, shuffle=True, random_state=0).split(X, y)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GDITDClassifier(preset="fast", max_epochs=10, random_state=0).fit(X[train], y[train])
    flagged = (model.verdict(X[test])["verdict"] == "OOD").to_numpy()
    for label, promise in zip(model.classes_, model.promises()["promise"], strict=True):
        own = y[test] == label
        if own.sum() > 100:
            assert flagged[own].mean() <= promise + 4 * np.sqrt(promise / own.sum()), label
