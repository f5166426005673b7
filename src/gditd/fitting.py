"""From a table and class numbers to a fitted model: plan, encode, train, calibrate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from gditd.calibration import ClassCalibrator, merge_rare
from gditd.detectors.network import resolve_backbone
from gditd.explain import Explainer
from gditd.fitted import FittedModel
from gditd.nn import GaussianDescriptor, GDITDLoss
from gditd.plan import EVERYWHERE, Plan, make_plan
from gditd.presets import Settings
from gditd.tables import TableEncoder, TableError
from gditd.temperature import fit_temperature
from gditd.training import Cohort, DescentSettings
from gditd.training.descent import ProgressCallback


def fit_model(
    table: pa.Table,
    codes: NDArray[np.int64],
    *,
    n_classes: int,
    settings: Settings,
    alpha: float,
    ignore: Sequence[str],
    rng: np.random.RandomState,
    device: torch.device,
    progress: ProgressCallback | None,
) -> FittedModel:
    """Learn from a table whose rows have class numbers 0 .. n_classes - 1."""
    plan = make_plan(codes, calibration=settings.calibration, n_members=settings.n_members, rng=rng)
    encoder, values = learn_columns(table, plan, settings, ignore)
    cohort = Cohort.fit(
        values,
        torch.as_tensor(codes),
        plan.members,
        backbone=resolve_backbone(settings.backbone),
        head=lambda dim: GaussianDescriptor(n_classes, dim),
        loss=GDITDLoss(beta=settings.beta),
        n_classes=n_classes,
        settings=descent_settings(settings),
        callback=progress,
        device=device,
    )
    explainer = Explainer.learn(table, values, codes, n_classes=n_classes, encoder=encoder)
    calibrating = np.unique(plan.fold_of_row[plan.fold_of_row != EVERYWHERE])
    if not len(calibrating):  # classes of one row each leave nothing to calibrate with: no row is ever rejected
        calibrating = np.array([plan.shared_fold])
    model = FittedModel(encoder, cohort, calibrating, explainer)
    if settings.calibration != "none":
        held_out = encoder.hide_lonely_categories(values, table, plan.fold_of_row, shared_fold=plan.shared_fold)
        calibrate(model, held_out, codes, plan.fold_of_row, n_classes=n_classes, alpha=alpha)
    return model


def learn_columns(
    table: pa.Table, plan: Plan, settings: Settings, ignore: Sequence[str]
) -> tuple[TableEncoder, Tensor]:
    """Learn the columns and encode the table.

    Rows held out from all members are held out here too: ranges and categories that know the rows that calibrate
    would make new rows look stranger than them.
    """
    encoder = TableEncoder(numbers=settings.numbers).fit(table, ignore=list(ignore))
    learned_from = plan.fold_of_row != plan.shared_fold
    if not learned_from.all():
        own_rows = table.filter(pa.array(learned_from))
        try:
            narrow = TableEncoder(numbers=settings.numbers).fit(own_rows, ignore=list(ignore))
            return narrow, narrow.transform(table).values
        except TableError:  # it takes the rows held out to see what a column is
            pass
    return encoder, encoder.transform(table).values


def descent_settings(settings: Settings) -> DescentSettings:
    """Return the part of the settings that training needs."""
    return DescentSettings(
        max_epochs=settings.max_epochs,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        validation_fraction=settings.validation_fraction,
        patience=settings.patience,
        rare_per_batch=settings.rare_per_batch,
    )


def calibrate(
    model: FittedModel,
    values: Tensor,
    codes: NDArray[np.int64],
    fold_of_row: NDArray[np.int64],
    *,
    n_classes: int,
    alpha: float,
) -> None:
    """Learn p-values and the temperature from rows that the members scoring them did not see."""
    rows = np.flatnonzero(fold_of_row != EVERYWHERE)
    by_fold = model.by_fold(model.zeta(values[torch.from_numpy(rows)]))
    folds, codes = np.searchsorted(model.folds, fold_of_row[rows]), codes[rows]
    unseen = by_fold[np.arange(len(rows)), folds]
    groups = merge_rare(np.bincount(codes, minlength=n_classes), alpha)
    model.calibrator = ClassCalibrator.fit(-unseen, codes, folds, groups)
    model.temperature = fit_temperature(unseen, codes)
