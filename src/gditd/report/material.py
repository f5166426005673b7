"""What the sections of a report are made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gditd import GDITDClassifier
from gditd.report.collected import Collected
from gditd.report.figures import UNSEEN, Scored
from gditd.report.words import name

Rows = Literal["new", "held out", "training"]

MOST_CLASSES = 30  # in a chart


@dataclass(frozen=True, eq=False)
class Material:
    """A model, the rows it is looked at with, and what was measured on them.

    `source` says what the rows are to the model: new; of its training table but held out to calibrate it; or rows it
    learned from.
    """

    model: GDITDClassifier
    alpha: float
    scored: Scored
    collected: Collected
    figures: dict[str, Any]
    source: Rows

    @property
    def names(self) -> list[str]:
        """The known classes in words, by number."""
        return [name(label) for label in self.model.classes_.tolist()]

    @property
    def is_unseen(self) -> NDArray[np.bool_]:
        """Which of the rows are of classes that training did not have."""
        unseen: NDArray[np.bool_] = self.scored.classes == UNSEEN
        return unseen

    @property
    def calibrated(self) -> bool:
        """Whether verdicts come from p-values."""
        return self.model._settings().rule == "conformal"

    def charted_classes(self) -> list[int]:
        """The numbers of classes to draw: all, or the largest and the smallest half of what there is room for."""
        by_size = np.argsort(-self.model.class_counts_, kind="stable").tolist()
        if len(by_size) <= MOST_CLASSES:
            return list(range(len(by_size)))
        half = MOST_CLASSES // 2
        return [*by_size[:half], *by_size[-half:]]

    def left_out_of_charts(self) -> str:
        """What to say where classes are not drawn."""
        count = len(self.model.classes_)
        if count <= MOST_CLASSES:
            return ""
        return f" Of {count:,} classes, the {MOST_CLASSES // 2} largest and the {MOST_CLASSES // 2} smallest are shown."


@dataclass(frozen=True)
class Part:
    """A section of the page: its anchor, its title and its HTML."""

    anchor: str
    title: str
    body: str


@dataclass(frozen=True)
class Absent:
    """A section that cannot be there, why, and what would bring it about."""

    title: str
    why: str
