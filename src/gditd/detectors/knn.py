"""Distance to the nearest training rows in the embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from gditd.detectors.base import FloatArray
from gditd.detectors.softmax_network import SoftmaxNetwork
from gditd.model_file import Tensors
from gditd.training.cohort import Backbone
from gditd.training.descent import ProgressCallback

# More rows than this make scoring slow and the distance to the k-th neighbour hardly better.
LARGEST_BANK = 20_000


class KNN(SoftmaxNetwork):
    """Distance to the k-th nearest training row on the unit sphere of the embedding (Sun et al. 2022).

    The model keeps the embeddings of at most 20,000 training rows, drawn at random.

    Parameters
    ----------
    n_neighbors : which neighbour's distance counts; fewer if there are not as many training rows.
    The other parameters are those of :class:`NetworkDetector`.
    """

    bank_: Tensor  # (members, rows, d), unit length

    def __init__(
        self,
        *,
        n_neighbors: int = 50,
        backbone: str | Backbone = "mlp",
        n_members: int = 1,
        max_epochs: int = 100,
        batch_size: int = 200,
        learning_rate: float = 1e-3,
        validation_fraction: float = 0.0,
        patience: int = 10,
        device: str = "auto",
        progress: ProgressCallback | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            backbone=backbone,
            n_members=n_members,
            max_epochs=max_epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            validation_fraction=validation_fraction,
            patience=patience,
            device=device,
            progress=progress,
            random_state=random_state,
        )
        self.n_neighbors = n_neighbors

    def ood_score(self, X: ArrayLike) -> FloatArray:
        """Distance to the k-th neighbour, averaged over members."""
        return self._apply(X, lambda embedding, _: self._distances(embedding).mean(0))

    def _distances(self, embedding: Tensor) -> Tensor:
        """(members, n, d) -> (members, n)."""
        k = min(self.n_neighbors, self.bank_.shape[1])
        cosines = unit_length(embedding) @ self.bank_.mT
        return (2 - 2 * cosines.topk(k, dim=-1).values[..., -1]).clamp_min(0).sqrt()

    def _learn(self, X: FloatArray, codes: NDArray[np.int64], n_classes: int) -> None:
        if self.n_neighbors < 1:
            raise ValueError(f"n_neighbors must be at least 1, got {self.n_neighbors}")
        super()._learn(X, codes, n_classes)

    def _after_training(self, x: Tensor, codes: NDArray[np.int64], n_classes: int) -> None:
        chosen = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))[:LARGEST_BANK].sort().values
        bank = self.cohort_.apply(x[chosen], lambda embedding, _: unit_length(embedding).transpose(0, 1))
        self.bank_ = bank.transpose(0, 1).contiguous().to(self.cohort_.device)

    def _tensors(self) -> Tensors:
        return super()._tensors() | {"bank": self.bank_}

    def _restore(self, tensors: Tensors, document: dict[str, Any]) -> None:
        super()._restore(tensors, document)
        self.bank_ = torch.as_tensor(tensors["bank"])


def unit_length(embedding: Tensor) -> Tensor:
    """Scale embeddings to length 1."""
    return nn.functional.normalize(embedding, dim=-1)
