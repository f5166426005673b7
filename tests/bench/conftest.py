"""A small mixed table of four classes on disk, and a quick experiment on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gditd.bench import Experiment
from tests.raw_tables import mixed_table


@pytest.fixture(scope="session")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """cases.csv: numbers, categories, dates and gaps; label "alien" looks like no other."""
    path = tmp_path_factory.mktemp("bench") / "cases.csv"
    table, labels = mixed_table((40, 60, 80))
    labels = np.asarray(labels).astype(object)
    aliens = np.arange(len(labels)) % 9 == 0
    table.loc[aliens, "amount"] = 90.0
    labels[aliens] = "alien"
    table.assign(label=labels).to_csv(path, index=False)
    return path


@pytest.fixture
def experiment(cases: Path) -> Experiment:
    return Experiment(
        dataset=str(cases),
        target="label",
        ood_classes=("alien",),
        methods=("softmax", "mahalanobis", "gditd-paper", "knn"),
        folds=3,
        epochs=2,
    )
