"""Cosine distance to the nearest prototype of a known class: neighbours, without a bank of rows to search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gditd.training.cohort import Seen
from gditd.views.base import View, embedding, hidden_layer
from gditd.views.lesson import Lesson

N_PROTOTYPES = 256  # of all classes together, about
ROWS_EACH = 3  # a prototype stands for at least so many rows
ROUNDS = 10


@dataclass(frozen=True, eq=False)
class Prototypes(View):
    """One minus the cosine to the nearest prototype, averaged over members.

    `prototypes` (members, p, d) have length 1. They are means of a few known rows each, never a row of the table.
    """

    unit: ClassVar[float] = 1e-3

    prototypes: Tensor

    @classmethod
    def learn(cls, lesson: Lesson) -> Self:
        """Cluster each class's rows of the bank, for all members at once."""
        bank = lesson.bank
        points = nn.functional.normalize(cls.points(bank.layers), dim=-1)
        first = first_prototypes(bank.codes, lesson.n_classes, np.random.default_rng(lesson.seed))
        return cls(spherical_means(points, bank.codes, first).to(lesson.cohort.device))

    @staticmethod
    def points(layers: list[Tensor]) -> Tensor:
        """The layer that the view looks at, (members, n, d)."""
        return embedding(layers)

    def scores(self, seen: Seen) -> Tensor:
        """One score for all classes."""
        points = self.points(seen.layers)
        nearest = torch.bmm(points, self.prototypes.mT).amax(-1)
        cosines = nearest / points.norm(dim=-1).clamp_min(torch.finfo(points.dtype).tiny)
        distances: Tensor = (1 - cosines).mean(0)
        return distances.unsqueeze(1)

    def state(self) -> dict[str, Tensor]:
        """The prototypes."""
        return {"prototypes": self.prototypes}

    @classmethod
    def from_state(cls, tensors: dict[str, Tensor]) -> Self:
        """Undo `state`."""
        return cls(tensors["prototypes"])


class EmbeddingPrototypes(Prototypes):
    """In the embedding."""


class HiddenPrototypes(Prototypes):
    """In the last hidden layer."""

    @staticmethod
    def points(layers: list[Tensor]) -> Tensor:
        """The last hidden layer."""
        return hidden_layer(layers)


def first_prototypes(codes: NDArray[np.int64], n_classes: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows to start from: of every class one in ROWS_EACH, but no more than its share of N_PROTOTYPES."""
    most = max(1, N_PROTOTYPES // n_classes)
    own = [rng.permutation(np.flatnonzero(codes == c)) for c in range(n_classes)]
    return np.concatenate([rows[: max(1, min(most, len(rows) // ROWS_EACH))] for rows in own])


def spherical_means(points: Tensor, codes: NDArray[np.int64], first: NDArray[np.int64]) -> Tensor:
    """Lloyd's algorithm on points of length 1 (members, n, d), within classes; returns (members, p, d)."""
    prototypes = points[:, torch.from_numpy(first)]
    other_class = torch.from_numpy(codes[:, None] != codes[first])
    for _ in range(ROUNDS):
        cosines = torch.bmm(points, prototypes.mT).masked_fill_(other_class, -2.0)
        nearest = cosines.argmax(-1, keepdim=True).expand(-1, -1, points.shape[2])
        sums = torch.zeros_like(prototypes).scatter_add_(1, nearest, points)
        # A prototype that lost all its rows stays where it was.
        moved = sums.norm(dim=-1, keepdim=True) > 0
        prototypes = torch.where(moved, nn.functional.normalize(sums, dim=-1), prototypes)
    return prototypes
