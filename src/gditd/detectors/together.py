"""Fit detectors on several tables at once: folds, seeds and settings of the data train as one cohort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike

from gditd.detectors.network import NetworkDetector, Scaling
from gditd.training.descent import ProgressCallback


@dataclass(frozen=True)
class Lesson:
    """One table, and the detectors that learn from it through one and the same network."""

    detectors: Sequence[NetworkDetector]
    X: ArrayLike
    y: ArrayLike


def fit_together(lessons: Sequence[Lesson], *, progress: ProgressCallback | None = None) -> None:
    """Fit all detectors of all lessons, training the networks as one cohort.

    Each comes out as if fitted alone. All must train alike (settings, head, loss), and all tables must have the same
    number of columns and of classes. The detectors of one lesson share the network that the first of them would train.
    """
    leads = [lesson.detectors[0] for lesson in lessons]
    refuse_different_training([detector for lesson in lessons for detector in lesson.detectors])
    tables = [lead._checked(lesson.X, lesson.y) for lead, lesson in zip(leads, lessons, strict=True)]
    shapes = {(table.rows.shape[1], len(table.classes)) for table in tables}
    if len(shapes) > 1:
        found = ", ".join(f"{columns} columns and {classes} classes" for columns, classes in sorted(shapes))
        raise ValueError(f"tables that train together must have equal numbers of columns and classes, got {found}")
    n_classes = len(tables[0].classes)
    scalings = [Scaling.of(table.rows) for table in tables]
    x = torch.cat([scaling.scaled(table.rows) for scaling, table in zip(scalings, tables, strict=True)])
    starts = np.cumsum([0, *(len(table.rows) for table in tables)])
    members = [
        lead._members(len(table.rows), int(start))
        for lead, table, start in zip(leads, tables, starts[:-1], strict=True)
    ]
    codes = np.concatenate([table.codes for table in tables])
    cohort = leads[0]._train(x, codes, [member for own in members for member in own], n_classes, progress)
    first = 0
    for lesson, table, scaling, start, own in zip(lessons, tables, scalings, starts[:-1], members, strict=True):
        part = cohort.part(first, first + len(own))
        first += len(own)
        for detector in lesson.detectors:
            detector._adopt(part, scaling, x[start : start + len(table.rows)], table.codes, n_classes)
            detector._remember_table(table)


def refuse_different_training(detectors: Sequence[NetworkDetector]) -> None:
    """Check that one cohort can hold all."""
    keys = [detector.training_key() for detector in detectors]
    other = next((d for d, key in zip(detectors, keys, strict=True) if key != keys[0]), None)
    if other is not None:
        raise ValueError(
            f"{type(detectors[0]).__name__} and {type(other).__name__} do not train alike: give them the same "
            "settings, or fit them apart"
        )
