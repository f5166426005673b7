"""From a table and class numbers to a fitted model: plan, encode, train, calibrate."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from gditd.calibration import ClassCalibrator, merge_rare
from gditd.detectors.network import resolve_backbone
from gditd.explain import Explainer
from gditd.explain.surprise import ColumnMap
from gditd.fitted import FittedModel
from gditd.lens import Lens
from gditd.nn import GaussianDescriptor, GDITDLoss
from gditd.plan import FEWEST_OF_A_SCALE, Plan, make_plan
from gditd.presets import (
    APART_FROM,
    LEFT_OUT,
    NAMING_TREES,
    TRIAL_SHARE,
    Settings,
    budget_of,
    tree_counts,
    view_names,
)
from gditd.tables import TableEncoder, TableError, TableSchema
from gditd.temperature import fit_temperature
from gditd.training import Cohort, DescentSettings
from gditd.training.descent import ProgressCallback
from gditd.training.state import Checkpoint
from gditd.views import Material, learn_fusion
from gditd.views.looks import fitting_names

TOO_FEW_FOR_OOD = (
    "the rows given as ood were not learned: the table has too few rows to be judged by more than zeta. The model is "
    "the same as without them"
)


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
    ood: pa.Table | None = None,
    checkpoint: Checkpoint | None = None,
) -> FittedModel:
    """Learn from a table whose rows have class numbers 0 .. n_classes - 1; `ood` are rows known to be of no class."""
    plan = make_plan(
        codes,
        calibration=settings.calibration,
        n_members=settings.n_members,
        alpha=alpha,
        rng=rng,
        fused=settings.fused,
        most_left_out=LEFT_OUT[settings.views],
    )
    encoder, values = learn_columns(table, plan, settings, ignore)
    known_unknowns = None if ood is None else encoded_ood(encoder, ood)
    everyone = Cohort.fit(
        values,
        torch.as_tensor(codes),
        [*plan.members, *plan.left_out.values()],
        backbone=resolve_backbone(settings.backbone),
        head=lambda dim: GaussianDescriptor(n_classes, dim),
        loss=GDITDLoss(beta=settings.beta),
        n_classes=n_classes,
        settings=descent_settings(settings, n_rows=len(plan.members[0].rows)),
        callback=progress,
        device=device,
        checkpoint=checkpoint,
        lens=Lens.fit(values[torch.from_numpy(~plan.held_out)], encoder) if settings.normal_scores else None,
    )
    cohort = everyone.part(0, len(plan.members))
    explainer = Explainer.learn(table, values, codes, n_classes=n_classes, encoder=encoder)
    calibrating = np.unique(plan.fold_of_row[plan.fold_of_row >= 0])
    if not len(calibrating):  # classes of one row each leave nothing to calibrate with: no row is ever rejected
        calibrating = np.array([plan.shared_fold])
    model = FittedModel(encoder, cohort, calibrating, explainer, settings.backbone)
    if settings.calibration == "none":
        return model
    folds = np.where(plan.held_out, plan.shared_fold, plan.fold_of_row)
    held_out = encoder.hide_lonely_categories(values, table, folds, shared_fold=plan.shared_fold)
    if settings.fused and len(plan.aside) >= FEWEST_OF_A_SCALE:
        own = view_names(settings.views, encoder.width)
        names = fitting_names(own, width=encoder.width, n_classes=n_classes)
        material = Material(
            values=held_out,
            codes=codes,
            n_classes=n_classes,
            taught=plan.taught,
            learned=plan.learned,
            compared=plan.compared,
            aside=plan.aside,
            calibrating=plan.calibrating,
            owners=ColumnMap.of(encoder).owners.numpy(),
            numbers=np.array(encoder.number_features, dtype=np.int64),
            names=names,
            trees=tree_counts(settings.views, encoder.width),
            trial_share=TRIAL_SHARE[settings.views],
            naming_trees=NAMING_TREES[settings.views],
            apart_from=APART_FROM[settings.views],
            budget=budget_of(settings.views, encoder.width),
            seed=int(rng.randint(2**31 - 1)),
            ood=known_unknowns,
        )
        absent = {c: everyone.part(m, m + 1) for m, c in enumerate(plan.left_out, start=len(plan.members))}
        model.fusion, model.forecast = learn_fusion(material, cohort, absent, alpha)
    elif ood is not None:
        warnings.warn(TOO_FEW_FOR_OOD, UserWarning, stacklevel=3)
    calibrate(model, held_out, codes, plan.fold_of_row, n_classes=n_classes, alpha=alpha)
    return model


def learn_columns(
    table: pa.Table, plan: Plan, settings: Settings, ignore: Sequence[str]
) -> tuple[TableEncoder, Tensor]:
    """Learn the columns and encode the table.

    Rows held out from all members are held out here too: ranges and categories that know the rows that calibrate
    would make new rows look stranger than them.
    """
    kinds = TableSchema.learn(table, ignore).kinds  # it may take the rows held out to see what a column is
    taught = table.filter(pa.array(~plan.held_out)) if plan.held_out.any() else table
    if not TableSchema.learn(taught, ignore, kinds).used:  # without the rows held out, nothing can be learned
        taught = table
    encoder = TableEncoder(numbers=settings.numbers).fit(taught, ignore=list(ignore), kinds=kinds)
    return encoder, encoder.transform(table).values


def encoded_ood(encoder: TableEncoder, rows: pa.Table) -> Tensor:
    """Encode rows known to be of no class."""
    try:
        return encoder.transform(rows).values
    except TableError as error:
        raise TableError(f"in the rows given as ood: {error}") from None


def descent_settings(settings: Settings, n_rows: int) -> DescentSettings:
    """Return the part of the settings that training needs, for members of so many rows."""
    epochs = settings.max_epochs
    if settings.max_steps is not None:
        steps_per_epoch = -(-n_rows // settings.batch_size)
        epochs = min(epochs, -(-settings.max_steps // steps_per_epoch))
    return DescentSettings(
        max_epochs=epochs,
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
    rows = np.flatnonzero(fold_of_row >= 0)
    by_fold = model.scored(values[torch.from_numpy(rows)]).by_fold
    folds, codes = np.searchsorted(model.folds, fold_of_row[rows]), codes[rows]
    unseen = by_fold[np.arange(len(rows)), folds]
    groups = merge_rare(np.bincount(codes, minlength=n_classes), alpha)
    model.calibrator = ClassCalibrator.fit(-unseen, codes, folds, groups)
    if model.fusion is None:  # a fusion has learned its probabilities already
        model.temperature = fit_temperature(unseen, codes)
