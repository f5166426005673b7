"""A report on how a model does on labelled rows."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gditd import GDITDClassifier
from gditd.inputs import new_table
from gditd.report.collected import Collected
from gditd.report.figures import UNSEEN, Scored, measured, score
from gditd.report.material import Material
from gditd.report.write import refuse_unfit_path, write_report
from gditd.summary import plain_label
from gditd.tables import TableError

CHUNK_ROWS = 16_384
TITLE = "How the model did on labelled rows"


def evaluate_report(
    model: GDITDClassifier,
    table: Any,
    labels: Any,
    figures: dict[str, Any] | None,
    path: str | Path,
    *,
    alpha: float | None = None,
    context: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Measure a model on a labelled table and write a page about it; returns the figures.

    Labels that are none of `classes_` count as OOD. `figures` are those of `gditd evaluate --json`, None to have them
    measured here; `context` is what to say at the top besides time and settings.
    """
    path = Path(path)
    refuse_unfit_path(path)
    model = copy.copy(model).set_params(on_error="raise")
    rows, words = new_table(model, table), as_labels(labels)
    if rows.num_rows != len(words) or not len(words):
        raise TableError(f"the table has {rows.num_rows} rows and there are {len(words)} labels: give one each")
    numbers = np.arange(1, len(words) + 1)
    scored, collected = look_at(model, rows, class_numbers(words, model), words, numbers, alpha=alpha)
    return finish(model, scored, collected, figures, path, alpha=alpha, context=context or {})


def finish(
    model: GDITDClassifier,
    scored: Scored,
    collected: Collected,
    figures: dict[str, Any] | None,
    path: Path,
    *,
    alpha: float | None,
    context: Mapping[str, str],
) -> dict[str, Any]:
    """Write the page from what was collected; for tables that were read chunk by chunk."""
    alpha = model.alpha if alpha is None else alpha
    figures = measured(model, scored, alpha) if figures is None else figures
    material = Material(model, alpha, scored, collected, figures, source="new")
    write_report(material, path, title=TITLE, context=context)
    return figures


def look_at(
    model: GDITDClassifier,
    rows: pa.Table,
    classes: NDArray[np.int64],
    labels: NDArray[Any],
    numbers: NDArray[np.int64],
    *,
    alpha: float | None,
) -> tuple[Scored, Collected]:
    """Score a whole table, and keep of it what a report needs."""
    collected = Collected(model)
    parts = []
    for start in range(0, rows.num_rows, CHUNK_ROWS):
        piece, own = rows.slice(start, CHUNK_ROWS), slice(start, start + CHUNK_ROWS)
        parts.append(score(model, piece, classes[own], labels[own], alpha=alpha, rows_before=start))
        collected.add(piece, numbers[own], parts[-1], labels[own])
    return Scored.joined(parts), collected


def as_labels(labels: Any) -> NDArray[Any]:
    """Labels of any kind of column as an array of plain values."""
    if isinstance(labels, pa.Array | pa.ChunkedArray):
        values = labels.to_pylist()
    else:
        values = [plain_label(label) for label in np.asarray(labels).ravel()]
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def class_numbers(labels: NDArray[Any], model: GDITDClassifier) -> NDArray[np.int64]:
    """Every row's class number, `UNSEEN` where the model does not know the label."""
    known = {plain_label(label): code for code, label in enumerate(model.classes_)}
    return np.array([known.get(label, UNSEEN) for label in labels], dtype=np.int64)
