"""Two-dimensional pictures of the test rows as the paper shows them: Deep-MCDD's embedding and GDITD's, on gas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gditd.bench.encoding import PreparedCell
from gditd.bench.experiment import Experiment
from gditd.bench.methods import method
from gditd.bench.protocol import cells
from gditd.bench.report.figures import project
from gditd.bench.report.write import Embeddings
from gditd.bench.tables import load_table
from gditd.detectors.network import NetworkDetector, Scaling

METHODS = ("deep-mcdd", "gditd-paper")
TABLE = "gas"
LARGEST_PICTURE = 2_000  # points: more are drawn over each other


def paper_embeddings(experiments: Sequence[Experiment], data: str | None) -> Embeddings | None:
    """Fit both methods on the first fold and project its test rows; None where gas is not measured."""
    experiment = next((e for e in experiments if e.dataset == TABLE and set(METHODS) <= set(e.methods)), None)
    if experiment is None:
        return None
    table = load_table(experiment, data)
    cell = PreparedCell.of(table, cells(experiment, table)[0])
    rng = np.random.default_rng(cell.cell.seed)
    rows = np.sort(rng.permutation(cell.test_rows)[:LARGEST_PICTURE])
    codes = cell.codes(rows)
    ood = table.class_names[cell.cell.ood_class]
    labels = np.array([*(table.class_names[label] for label in cell.classes), ood])[codes]  # OOD is -1, the last
    return {name: (project(embedded(name, experiment, cell, rows), cell.cell.seed), labels, ood) for name in METHODS}


def embedded(name: str, experiment: Experiment, cell: PreparedCell, rows: NDArray[np.int64]) -> NDArray[Any]:
    """Fit a method on a cell and embed rows by its network (n, d)."""
    detector: NetworkDetector = method(name).make(cell.cell.seed, experiment.epochs)
    detector.fit(cell.encoded(cell.split.train), cell.codes(cell.split.train))
    x = Scaling(detector.mean_, detector.scale_).scaled(cell.encoded(rows))
    found: NDArray[Any] = detector.cohort_.apply(x, lambda embedding, _: embedding[0]).numpy()
    return found
