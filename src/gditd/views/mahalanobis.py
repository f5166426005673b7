"""Mahalanobis distance to the class means, in a layer of the members or among the encoded columns themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gditd.detectors.mahalanobis import class_axes
from gditd.nn.descriptor import squared_distances
from gditd.training.cohort import Seen
from gditd.views.base import View, embedding, hidden_layer, in_full_lanes, padded
from gditd.views.lesson import Lesson, proportional_sample

# Directions with less than this share of the largest variance are left out: on average over tables they add nothing,
# and float32 could not keep them apart from rounding.
SMALLEST_SPREAD = 1e-4

MOST_ROWS = 20_000  # that the covariance of the columns is learned from
SMALLEST_VARIANCE = 1e-12
RIDGE = 1e-3  # added to the variances of encoded columns, most of which are 1


@dataclass(frozen=True, eq=False)
class Mahalanobis(View):
    """Distance to each class mean under one covariance for all classes, averaged over members.

    `whitening` (members, d, r) takes a layer to a space in which that is the Euclidean distance; `centers` (members,
    k, r) are the class means there.
    """

    unit: ClassVar[float] = 0.25

    whitening: Tensor
    centers: Tensor

    @classmethod
    def learn(cls, lesson: Lesson) -> Self:
        """Take means and covariance from the bank, member by member."""
        bank = lesson.bank
        members = [whiten(member.double().numpy(), bank.codes, lesson.n_classes) for member in cls.points(bank.layers)]
        rank = max(whitening.shape[1] for whitening, _ in members)
        return cls(
            torch.stack([padded(whitening, rank) for whitening, _ in members]).to(lesson.cohort.device),
            torch.stack([padded(centers, rank) for _, centers in members]).to(lesson.cohort.device),
        )

    @staticmethod
    def points(layers: list[Tensor]) -> Tensor:
        """The layer that the view looks at, (members, n, d)."""
        return embedding(layers)

    def scores(self, seen: Seen) -> Tensor:
        """One score a class."""
        white = torch.bmm(self.points(seen.layers), self.whitening)
        return self.distances(white, self.centers).mean(0)

    @staticmethod
    def distances(white: Tensor, centers: Tensor) -> Tensor:
        """From points (..., n, r) to centres (..., k, r). In float64: each is the difference of far larger numbers."""
        return squared_distances(white.double(), centers.double()).sqrt()

    def state(self) -> dict[str, Tensor]:
        """The matrices."""
        return {"whitening": self.whitening, "centers": self.centers}

    @classmethod
    def from_state(cls, tensors: dict[str, Tensor]) -> Self:
        """Undo `state`."""
        return cls(tensors["whitening"], tensors["centers"])


class EmbeddingMahalanobis(Mahalanobis):
    """In the embedding."""


class HiddenMahalanobis(Mahalanobis):
    """In the last hidden layer, each row scaled to length 1: which units are on counts, not how much."""

    @staticmethod
    def points(layers: list[Tensor]) -> Tensor:
        """Rows of length 1."""
        return nn.functional.normalize(hidden_layer(layers), dim=-1)


class ColumnMahalanobis(Mahalanobis):
    """Among the encoded columns, without any network."""

    of_columns: ClassVar[bool] = True

    @classmethod
    def learn(cls, lesson: Lesson) -> Self:
        """Take means and covariance from the rows themselves."""
        some = proportional_sample(lesson.codes, lesson.n_classes, MOST_ROWS, np.random.default_rng(lesson.seed))
        rows = lesson.rows[torch.from_numpy(some)].double().numpy()
        whitening, centers = whiten(rows, lesson.codes[some], lesson.n_classes, ridge=RIDGE)
        return cls(whitening.unsqueeze(0), centers.unsqueeze(0))

    def scores(self, seen: Seen) -> Tensor:
        """One score a class."""
        white = seen.rows.cpu() @ self.whitening[0]
        return self.distances(white, self.centers[0])


def whiten(
    points: NDArray[np.float64], codes: NDArray[np.int64], n_classes: int, *, ridge: float = 0.0
) -> tuple[Tensor, Tensor]:
    """A whitening matrix (d, r) of the covariance within classes, and the class means (k, r) after it.

    Every class has a point at least.
    """
    means, variances, axes = class_axes(points, codes, n_classes, ridge=ridge)
    least = ridge or max(SMALLEST_SPREAD * variances.max(), SMALLEST_VARIANCE)
    kept = variances >= least * (1 - 1e-9)
    kept[-1] = True  # the largest, even where all points of a class are the same
    # In the order of a model file: a product depends, in its last bits, on how its factors lie in memory.
    whitening = np.ascontiguousarray(axes[:, kept] / np.sqrt(np.maximum(variances[kept], least)))
    rank = in_full_lanes(whitening.shape[1])
    return (
        padded(torch.from_numpy(whitening).float(), rank),
        padded(torch.from_numpy(means @ whitening).float(), rank),
    )
