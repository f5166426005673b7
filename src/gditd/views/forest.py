"""Forests of extremely randomised trees on the encoded columns, as they are and with made-up rows as one more class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from torch import Tensor

from gditd.detectors.network import part_of
from gditd.views.lesson import Lesson, some_rows
from gditd.views.mixing import mixed_rows
from gditd.views.ranges import Ranges
from gditd.views.trees import PackedForest

MOST_LEAVES = 4_096  # of a tree, so that a forest's size stays within bounds

Floats = NDArray[np.floating[Any]]


class Walk(NamedTuple):
    """What n rows meet in a forest: shares of votes (n, classes), with made-up rows one more, and surprise (n,)."""

    votes: NDArray[np.float64]
    surprise: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Forest:
    """Entropy of the votes: a row that the trees do not agree about is strange."""

    units: ClassVar[Mapping[str, float]] = {"forest": 0.1}
    """The views that a forest gives, each with a small difference between two scores."""

    counts_in_names: ClassVar[float] = 3.0
    """How much its votes count where several forests name classes."""

    trees: PackedForest
    n_classes: int

    @classmethod
    def learn(cls, lesson: Lesson, trees: Mapping[str, int], ood: Tensor | None = None) -> Self:
        """Grow the trees, as many as there are for the view; `ood` are rows known to be of no class, for a forest that
        takes them.
        """
        rng = np.random.default_rng(lesson.seed)
        rows, codes = some_rows(lesson, rng)
        return cls(grown(rows, codes, np.ones(len(rows)), trees["forest"], rng), lesson.n_classes)

    def followed_by(self, other: Self) -> Self:
        """Return a forest with the trees of both."""
        return replace(self, trees=self.trees.followed_by(other.trees))

    def walk(self, rows: Tensor) -> Walk:
        """Send rows (n, features) through the trees."""
        return Walk(*self.trees.walked(rows.cpu().numpy()))

    def strangeness(self, walk: Walk) -> Floats:
        """How strange rows are for each of the forest's views, (n, views)."""
        return entropies_of(walk.votes, walk.votes.shape[1])[:, None]

    def class_votes(self, walk: Walk) -> Floats:
        """The votes for known classes, (n, classes), as shares of 1."""
        known = walk.votes[:, : self.n_classes]
        shares: Floats = known / np.maximum(known.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        return shares

    def state(self) -> dict[str, Tensor]:
        """The trees."""
        return self.trees.state()

    @classmethod
    def from_state(cls, tensors: dict[str, Tensor], n_classes: int) -> Self:
        """Undo `state`."""
        forest = cls(PackedForest.from_state(tensors), n_classes)
        refuse_misfit(forest.trees, n_classes)
        return forest


@dataclass(frozen=True, eq=False)
class MixedForest(Forest):
    """A forest that knows made-up rows as one more class, and where in its trees the known rows lie.

    A vote for "made up" counts like one that is spread evenly over all classes.
    """

    units: ClassVar[Mapping[str, float]] = {"mixed-forest": 0.1, "mixed-ranges": 0.05}
    counts_in_names: ClassVar[float] = 1.0  # made-up rows take votes from rare classes

    ranges: Ranges

    @classmethod
    def learn(cls, lesson: Lesson, trees: Mapping[str, int], ood: Tensor | None = None) -> Self:
        """Make up rows, and grow the trees; as many of them are looked at for ranges as there are for that view."""
        rng = np.random.default_rng(lesson.seed)
        known, codes = some_rows(lesson, rng)
        strange, weights = strange_rows(known, codes, lesson.owners, ood, rng)
        forest = grown(
            np.concatenate([known, strange]),
            np.concatenate([codes, np.full(len(strange), lesson.n_classes)]),
            np.concatenate([np.ones(len(known)), weights]),
            trees["mixed-forest"],
            rng,
        )
        forest, ranges = Ranges.of(forest, known, trees["mixed-ranges"])
        return cls(forest, lesson.n_classes, ranges)

    def followed_by(self, other: Self) -> Self:
        """Return a forest with the trees and ranges of both."""
        return replace(super().followed_by(other), ranges=self.ranges.followed_by(other.ranges))

    def walk(self, rows: Tensor) -> Walk:
        """Send rows (n, features) through the trees; the nodes' surprise is averaged over those looked at."""
        votes, surprise = self.trees.walked(rows.cpu().numpy(), self._ranges)
        return Walk(votes, surprise / self.ranges.n_trees)

    @cached_property
    def _ranges(self) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
        """As the walk takes them."""
        return self.ranges.packed, self.ranges.counts, self.ranges.depths(self.trees)

    def strangeness(self, walk: Walk) -> Floats:
        """Entropy of the votes for known classes with the votes for none of them, and how far outside rows lie."""
        made_up = walk.votes[:, self.n_classes] * np.log(self.n_classes + 1)
        undecided = made_up + entropies_of(walk.votes, self.n_classes)
        return np.column_stack([undecided, walk.surprise])

    def state(self) -> dict[str, Tensor]:
        """The trees and the ranges in them."""
        return super().state() | {f"ranges.{name}": value for name, value in self.ranges.state().items()}

    @classmethod
    def from_state(cls, tensors: dict[str, Tensor], n_classes: int) -> Self:
        """Undo `state`."""
        trees = PackedForest.from_state({name: tensors[name] for name in tensors if not name.startswith("ranges.")})
        refuse_misfit(trees, n_classes + 1)
        return cls(trees, n_classes, Ranges.from_state(part_of(tensors, "ranges."), trees))


def entropies_of(votes: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Of the votes (n, classes) for the first so many classes, (n,)."""
    from gditd.views.entropy import entropies  # noqa: PLC0415 - takes a moment, and not every command needs it

    found = np.empty(len(votes))
    entropies(votes, n_classes, found)
    return found


def grown(
    rows: Floats, codes: NDArray[np.int64], weights: Floats, n_trees: int, rng: np.random.Generator
) -> PackedForest:
    """Extremely randomised trees."""
    seed = int(rng.integers(2**31 - 1))
    forest = ExtraTreesClassifier(n_trees, max_leaf_nodes=MOST_LEAVES, n_jobs=1, random_state=seed)
    forest.fit(rows, codes, sample_weight=weights)
    return PackedForest.of([estimator.tree_ for estimator in forest.estimators_], rows.shape[1])


def refuse_misfit(trees: PackedForest, n_classes: int) -> None:
    """Refuse trees that vote for more or fewer classes."""
    if trees.shares.shape[1] != n_classes:
        raise ValueError("a forest's leaves do not fit the classes")


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
