"""Cosine distance to the nearest prototype of a known class: neighbours, without a bank of rows to search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from gditd.training.cohort import Seen
from gditd.views.base import View, embedding, hidden_layer
from gditd.views.clusters import Clusters
from gditd.views.lesson import Lesson

N_PROTOTYPES = 256  # of all classes together, about


@dataclass(frozen=True, eq=False)
class Prototypes(View):
    """One minus the cosine to the nearest prototype, averaged over members.

    `prototypes` (members, p, d) have length 1. They are means of a few known rows each, but for classes of one or two.
    """

    unit: ClassVar[float] = 1e-3

    prototypes: Tensor

    @classmethod
    def learn(cls, lesson: Lesson) -> Self:
        """Cluster each class's rows of the bank, for all members at once."""
        bank = lesson.bank
        points = nn.functional.normalize(cls.points(bank.layers), dim=-1)
        clusters = Clusters(N_PROTOTYPES, on_sphere=True)
        means = clusters.of_classes(points, bank.codes, lesson.n_classes, np.random.default_rng(lesson.seed))
        return cls(torch.cat(means, dim=1).to(lesson.cohort.device))

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
