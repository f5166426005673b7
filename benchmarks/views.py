"""What each view adds: OOD AUROC of every view alone, of all fused, and of all but one.

The cells are those of detection.py with fold 1 and MDSR 1 only, at most 8,000 rows and two OOD classes a table. Views
that hardly counted in a fusion were dropped there, so leaving them out changes nothing. Needs GDITD_DATA, or --data.

    python benchmarks/views.py [--json] [--out FILE] [--tables a,b] [--data DIR]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch

from detection import small_cells_main
from gditd import GDITDClassifier
from gditd.bench.protocol import Cell, split
from gditd.bench.tables import BenchTable
from gditd.explain.surprise import ColumnMap
from gditd.views.fusion import Fusion
from gditd.views.lesson import Lesson
from gditd.views.looks import FERNS, FORESTS, VIEWS, ViewSet, fitting_names
from gditd.views.weights import auroc, normalised
from report import Results, markdown

TREES = dict.fromkeys([*FORESTS, *FERNS, "mixed-ranges"], 60)


def measure(table: BenchTable, cell: Cell) -> dict[str, Any]:
    """One cell: AUROC of each view, of the fusion, and of the fusion without each view."""
    rows = split(table, cell)
    train, labels = table.take(rows.train), table.labels[rows.train]
    model = GDITDClassifier(random_state=0).fit(train, labels)
    fitted, fusion = model.model_, model.model_.fusion
    assert fusion is not None
    known, strange = (model._encode(table.take(part)).values for part in (rows.test, rows.ood))
    everything = all_views(model, train, labels)
    alone = [everything.look(fitted.cohort, values).strangeness for values in (known, strange)]
    scaled = [fusion.scales(fusion.look_completely(fitted.cohort, values).strangeness) for values in (known, strange)]
    return {
        "table": table.name,
        "alone": {name: auroc(*own) for name, own in zip(everything.names, columns(alone), strict=True)},
        "fused": auroc(*(part @ fusion.weights for part in scaled)),
        "without": {name: without(fusion, scaled, place) for place, name in enumerate(fusion.views.names)},
    }


def all_views(model: GDITDClassifier, train: object, labels: np.ndarray) -> ViewSet:
    """Every view there is, learned on the model's cohort."""
    fitted = model.model_
    codes = np.searchsorted(model.classes_, labels)
    owners = ColumnMap.of(fitted.encoder).owners.numpy()
    rows = model._encode(train).values
    lesson = Lesson(fitted.cohort, rows, codes, np.arange(len(model.classes_)), owners, 0)
    names = fitting_names([*VIEWS, *FORESTS, *FERNS], width=rows.shape[1], n_classes=lesson.n_classes)
    with torch.no_grad():
        return ViewSet.learn(lesson, names, TREES)


def columns(parts: list[np.ndarray]) -> list[tuple[np.ndarray, ...]]:
    """For each view its scores of all parts."""
    return list(zip(*(part.T for part in parts), strict=True))


def without(fusion: Fusion, scaled: list[np.ndarray], place: int) -> float:
    """AUROC of the fusion with one view's weight given to the others."""
    weights = fusion.weights.copy()
    weights[place] = 0.0
    return auroc(*(part @ normalised(weights) for part in scaled)) if weights.any() else float("nan")


def as_markdown(results: Results) -> str:
    """Tables down, views across: alone, then what leaving one out costs."""
    of_forests = (name for forest in FORESTS.values() for name in forest.units)
    every = [*VIEWS, *of_forests, *(name for ferns in FERNS.values() for name in ferns.units)]
    names = [name for name in every if any(name in one["alone"] for one in results)]
    tables = list(dict.fromkeys(one["table"] for one in results))
    alone = pd.DataFrame([{"table": one["table"], "fused": one["fused"], **one["alone"]} for one in results])
    lost = pd.DataFrame(
        [
            {"table": one["table"], **{name: one["fused"] - value for name, value in one["without"].items()}}
            for one in results
        ]
    )
    parts = [
        "# What each view adds",
        "OOD AUROC in %, means over two OOD classes.",
        "## Each view alone, learned from all training rows",
        with_means(100 * alone.groupby("table").mean().reindex(tables)[["fused", *names]], "{:.1f}"),
        "## What the fusion loses without a view, in points; - where it was dropped or does not fit the table",
        with_means(100 * lost.groupby("table").mean().reindex(tables, columns=["table", *names])[names], "{:+.2f}"),
    ]
    return "\n\n".join(parts) + "\n"


def with_means(frame: pd.DataFrame, form: str) -> str:
    """A table with a last line of means."""
    frame = pd.concat([frame, frame.mean().rename("mean").to_frame().T])
    rows = [
        [name, *("-" if pd.isna(value) else form.format(value) for value in row)]
        for name, row in zip(frame.index, frame.to_numpy(), strict=True)
    ]
    return markdown(["table", *frame.columns], rows)


if __name__ == "__main__":
    small_cells_main(__doc__, measure, as_markdown)
