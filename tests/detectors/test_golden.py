"""Golden figures: no detector may change how well it detects without anybody noticing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sklearn.metrics import accuracy_score, roc_auc_score

from tests.detectors.discovery import ESTIMATORS, quick
from tests.detectors.tables import unseen_kind_table

GOLDEN = Path(__file__).with_name("golden.json")
TOLERANCE = 2.0  # points; processors round differently, and training carries that on


def figures(estimator_class):
    """OOD AUROC and accuracy in % on the generated table."""
    X, y, known, known_y, unseen = unseen_kind_table()
    settings = {"max_epochs": 40} if estimator_class.__name__ != "ExtraTrees" else {}
    model = quick(estimator_class, **settings).fit(X, y)
    scores = [*model.ood_score(known), *model.ood_score(unseen)]
    truth = [0] * len(known) + [1] * len(unseen)
    return {
        "ood_auroc": round(100 * roc_auc_score(truth, scores), 2),
        "id_accuracy": round(100 * accuracy_score(known_y, model.predict(known)), 2),
    }


@pytest.mark.parametrize("estimator_class", ESTIMATORS, ids=lambda found: found.__name__)
def test_figures_are_golden(estimator_class):
    golden = json.loads(GOLDEN.read_text())
    name = estimator_class.__name__
    assert name in golden, f"{name} has no golden figures yet: python -m tests.detectors.test_golden writes them"
    assert figures(estimator_class) == pytest.approx(golden[name], abs=TOLERANCE)


def test_golden_figures_are_far_from_chance():
    for name, golden in json.loads(GOLDEN.read_text()).items():
        assert golden["ood_auroc"] > 75, name
        assert golden["id_accuracy"] > 85, name


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps({found.__name__: figures(found) for found in ESTIMATORS}, indent=2) + "\n")
