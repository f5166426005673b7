"""What views learn from: encoded rows that a cohort was trained on, and their classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gditd.training import Cohort

LARGEST_BANK = 3_000  # rows whose layers are looked at, about as many of each class
FEWEST_OF_A_CLASS = 30
MOST_ROWS = 40_000  # that a forest learns from: more make it larger and slower, and hardly better


@dataclass(frozen=True, eq=False)
class Lesson:
    """Rows (n, width) with class numbers 0 .. k - 1, and the cohort that learned from them.

    `classes` (k,) are the numbers that the cohort's head has for these classes: all of them, or all but one left out.
    `owners` (width,) is the raw column that each encoded feature comes from.
    """

    cohort: Cohort
    rows: Tensor
    codes: NDArray[np.int64]
    classes: NDArray[np.int64]
    owners: NDArray[np.int64]
    seed: int

    @property
    def n_classes(self) -> int:
        """The number of classes, k."""
        return len(self.classes)

    @cached_property
    def bank(self) -> Bank:
        """Rows of all classes and what the members' layers make of them."""
        each = max(LARGEST_BANK // self.n_classes, FEWEST_OF_A_CLASS)
        rows = balanced_sample(self.codes, self.n_classes, each, np.random.default_rng(self.seed))
        chosen = self.rows[torch.from_numpy(rows)]
        widths = [layer.shape[2] for layer in self.cohort.layers(chosen[:1])]
        joined = self.cohort.look(chosen, lambda seen: torch.cat(seen.layers, dim=2).transpose(0, 1))
        layers = torch.split(joined.transpose(0, 1), widths, dim=2)
        return Bank([layer.contiguous() for layer in layers], self.codes[rows])


@dataclass(frozen=True, eq=False)
class Bank:
    """The output (members, rows, d) of each layer for some rows, and the rows' classes."""

    layers: list[Tensor]
    codes: NDArray[np.int64]


def balanced_sample(codes: NDArray[np.int64], n_classes: int, each: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw at most `each` rows of every class; the row numbers come class by class."""
    return np.concatenate([rng.permutation(np.flatnonzero(codes == c))[:each] for c in range(n_classes)])


def proportional_sample(
    codes: NDArray[np.int64], n_classes: int, most: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw about `most` rows, every class in proportion and with a row at least; all if there are no more."""
    share = min(1.0, most / len(codes))
    own = [rng.permutation(np.flatnonzero(codes == c)) for c in range(n_classes)]
    return np.concatenate([rows[: int(np.ceil(share * len(rows)))] for rows in own])


def some_rows(lesson: Lesson, rng: np.random.Generator) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """As many of the lesson's rows as a forest learns from, and their classes."""
    some = proportional_sample(lesson.codes, lesson.n_classes, MOST_ROWS, rng)
    return lesson.rows[torch.from_numpy(some)].numpy(), lesson.codes[some]
