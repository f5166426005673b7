"""Prototypes of classes: means of three similar rows each or more, or of all rows of a class that has fewer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

ROWS_EACH = 3  # that a prototype stands for, at least, where the class has so many
ROUNDS = 10


@dataclass(frozen=True)
class Clusters:
    """About so many prototypes, of all classes together; of length 1 where the points are."""

    n_prototypes: int
    on_sphere: bool = False

    def of_classes(
        self, points: Tensor, codes: NDArray[np.int64], n_classes: int, rng: np.random.Generator
    ) -> list[Tensor]:
        """Cluster the points (members, n, d) of each class: prototypes (members, p, d)."""
        most = max(1, self.n_prototypes // n_classes)
        own = [rng.permutation(np.flatnonzero(codes == c)) for c in range(n_classes)]
        return [self._of_class(points[:, torch.from_numpy(rows)], most) for rows in own]

    def _of_class(self, points: Tensor, most: int) -> Tensor:
        """Lloyd's algorithm for all members at once; prototypes start from the first points."""
        prototypes = points[:, : max(1, min(most, points.shape[1] // ROWS_EACH))]
        sizes = prototypes.new_zeros(prototypes.shape[:2])
        for _ in range(ROUNDS):
            halved = prototypes.square().sum(-1).unsqueeze(1) / 2
            nearest = (torch.bmm(points, prototypes.mT) - halved).argmax(-1)
            sums = torch.zeros_like(prototypes).scatter_add_(1, nearest.unsqueeze(-1).expand_as(points), points)
            sizes = torch.zeros_like(sizes).scatter_add_(1, nearest, torch.ones_like(points[..., 0]))
            # A prototype that lost all its rows stays where it was.
            prototypes = torch.where(sizes.unsqueeze(-1) > 0, self._mean(sums, sizes), prototypes)
        return without_loners(prototypes, sizes)

    def _mean(self, sums: Tensor, sizes: Tensor) -> Tensor:
        if self.on_sphere:
            return nn.functional.normalize(sums, dim=-1)
        return sums / sizes.clamp_min(1).unsqueeze(-1)


def without_loners(prototypes: Tensor, sizes: Tensor) -> Tensor:
    """Put the largest cluster's prototype, once more, in place of those that stand for too few rows."""
    largest = sizes.argmax(1, keepdim=True).unsqueeze(-1).expand(-1, 1, prototypes.shape[2])
    return torch.where(sizes.unsqueeze(-1) >= ROWS_EACH, prototypes, prototypes.gather(1, largest))
