"""A report on what a model learned, from its training table."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from gditd import GDITDClassifier
from gditd.inputs import new_table
from gditd.labels import encode_labels
from gditd.plan import make_plan
from gditd.report.evaluation import as_labels, look_at
from gditd.report.figures import measured
from gditd.report.material import Material
from gditd.report.write import refuse_unfit_path, write_report
from gditd.tables import TableError

TITLE = "What the model learned"


def fit_report(
    model: GDITDClassifier,
    table: Any,
    labels: Any,
    path: str | Path,
    *,
    context: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Write a page about a model and the table it was fitted on; returns the figures in it.

    Figures are those of the rows that were held out of training to calibrate the model where they can be told, and of
    all training rows elsewhere. The page says which.
    """
    path = Path(path)
    refuse_unfit_path(path)
    model = copy.copy(model).set_params(on_error="raise")
    rows, words = new_table(model, table), as_labels(labels)
    classes, codes = encode_labels(labels)
    if not np.array_equal(classes, model.classes_) or not np.array_equal(np.bincount(codes), model.class_counts_):
        raise TableError("these are not the labels that the model was fitted with: pass its training table and labels")
    held_out = held_out_rows(model, codes)
    if held_out is not None:
        rows, codes, words = rows.filter(pa.array(held_out)), codes[held_out], words[held_out]
        model.model_ = model.model_.as_calibrated  # they taught some of what ranks rows and names their classes
    numbers = np.arange(1, len(codes) + 1) if held_out is None else np.flatnonzero(held_out) + 1
    scored, collected = look_at(model, rows, codes, words, numbers, alpha=None)
    figures = measured(model, scored, model.alpha)
    material = Material(model, model.alpha, scored, collected, figures, "training" if held_out is None else "held out")
    write_report(material, path, title=TITLE, context=context or {})
    return figures


def held_out_rows(model: GDITDClassifier, codes: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    """Which training rows no member learned from; None where there are none, or where that cannot be told.

    A model does not keep its plan, but the same seed gives the same one. What its calibration kept must agree.
    """
    calibrator, settings = model.model_.calibrator, model._settings()
    if calibrator is None or calibrator.method != "split" or not isinstance(model.random_state, int | np.integer):
        return None
    plan = make_plan(
        codes,
        calibration=settings.calibration,
        n_members=settings.n_members,
        alpha=model.alpha,
        rng=check_random_state(model.random_state),
        fused=settings.fused,  # else rows that views set aside would be missed, and no row be known to be held out
    )
    held_out = plan.fold_of_row == plan.shared_fold
    by_group = np.bincount(calibrator.groups[codes[held_out]], minlength=calibrator.fold_counts.shape[1])
    return held_out if held_out.any() and np.array_equal(by_group, calibrator.fold_counts[0]) else None
