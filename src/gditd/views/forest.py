"""Forests of extremely randomised trees on the encoded columns, as they are and with made-up rows as one more class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.ensemble import ExtraTreesClassifier
from torch import Tensor

from gditd.views.lesson import Lesson, proportional_sample
from gditd.views.mixing import mixed_rows
from gditd.views.trees import PackedForest

MOST_ROWS = 40_000  # known rows that a forest learns from: more make it larger and slower, and hardly better
MOST_LEAVES = 4_096  # of a tree, so that a forest's size stays within bounds

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Forest:
    """Entropy of the votes: a row that the trees do not agree about is strange."""

    unit: ClassVar[float] = 0.1
    with_mixed: ClassVar[bool] = False

    trees: PackedForest
    n_classes: int

    @classmethod
    def learn(cls, lesson: Lesson, n_trees: int, ood: Tensor | None = None) -> Self:
        """Grow the trees; `ood` are rows known to be of no class, for a forest that takes them."""
        rng = np.random.default_rng(lesson.seed)
        some = proportional_sample(lesson.codes, lesson.n_classes, MOST_ROWS, rng)
        rows, codes = lesson.rows[torch.from_numpy(some)].numpy(), lesson.codes[some]
        weights = np.ones(len(rows))
        if cls.with_mixed:
            strange, strange_weights = strange_rows(rows, codes, lesson.owners, ood, rng)
            rows = np.concatenate([rows, strange])
            codes = np.concatenate([codes, np.full(len(strange), lesson.n_classes)])
            weights = np.concatenate([weights, strange_weights])
        grown = ExtraTreesClassifier(
            n_trees, max_leaf_nodes=MOST_LEAVES, n_jobs=1, random_state=int(rng.integers(2**31 - 1))
        ).fit(rows, codes, sample_weight=weights)
        trees = [estimator.tree_ for estimator in grown.estimators_]
        return cls(PackedForest.of(trees, rows.shape[1]), lesson.n_classes)

    def votes(self, rows: Tensor) -> Floats:
        """The share of votes for each class, (n, classes), and with made-up rows one more."""
        return self.trees.class_shares(rows.cpu().numpy())

    def strangeness(self, votes: Floats) -> Floats:
        """How strange rows are (n,), from their votes."""
        entropies: Floats = -xlogy(votes, votes).sum(axis=1)
        return entropies

    def class_votes(self, votes: Floats) -> Floats:
        """The votes for known classes, (n, classes), as shares of 1."""
        known = votes[:, : self.n_classes]
        shares: Floats = known / np.maximum(known.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        return shares

    def state(self) -> dict[str, Tensor]:
        """The trees."""
        return self.trees.state()

    @classmethod
    def from_state(cls, tensors: dict[str, Tensor], n_classes: int) -> Self:
        """Undo `state`."""
        forest = cls(PackedForest.from_state(tensors), n_classes)
        if forest.trees.shares.shape[1] != n_classes + cls.with_mixed:
            raise ValueError("a forest's leaves do not fit the classes")
        return forest


class MixedForest(Forest):
    """A vote for "made up" counts like one that is spread evenly over all classes."""

    with_mixed: ClassVar[bool] = True

    def strangeness(self, votes: Floats) -> Floats:
        """Entropy of the votes for known classes, and the votes for none of them."""
        known = votes[:, : self.n_classes]
        strange: Floats = votes[:, self.n_classes] * np.log(self.n_classes + 1) - xlogy(known, known).sum(axis=1)
        return strange


def strange_rows(
    rows: Floats, codes: NDArray[np.int64], owners: NDArray[np.int64], ood: Tensor | None, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """As many made-up rows as there are known ones; rows known to be OOD together weigh as much as those."""
    mixed = mixed_rows(rows, codes, len(rows), owners=owners, rng=rng)
    if ood is None or not len(ood):
        return mixed, np.ones(len(mixed))
    return (
        np.concatenate([mixed, ood.numpy()]),
        np.concatenate([np.ones(len(mixed)), np.full(len(ood), len(mixed) / len(ood))]),
    )
