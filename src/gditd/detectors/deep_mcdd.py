"""Deep multi-class data description, the method the paper builds on."""

from __future__ import annotations

from typing import NamedTuple

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from gditd.detectors.base import FloatArray
from gditd.detectors.network import NetworkDetector
from gditd.detectors.softmax_network import cross_entropy
from gditd.nn import Description, GaussianDescriptor, PullLoss
from gditd.training.objectives import Loss


class DeepMCDD(NetworkDetector):
    """Deep-MCDD (Lee et al. 2020): a Gaussian per class, trained by pull loss plus cross-entropy over -D + alpha.

    Its authors average both losses over the batch and update everything with one Adam.
    """

    def class_scores(self, X: ArrayLike) -> FloatArray:
        """-D + alpha (n, classes), averaged over members."""
        return self._apply(X, lambda _, output: output.logits.mean(0))

    def ood_score(self, X: ArrayLike) -> FloatArray:
        """Distance D to the nearest class, averaged over members."""
        return self._apply(X, lambda _, output: output.description.distance.amin(-1).mean(0))

    def _head(self, dim: int, n_classes: int) -> nn.Module:
        return BiasedDescriptor(n_classes, dim)

    def _loss(self) -> Loss:
        return DeepMCDDLoss()


class BiasedDescription(NamedTuple):
    """A description, and the logits -D + alpha made from it."""

    description: Description
    logits: Tensor


class BiasedDescriptor(nn.Module):
    """A Gaussian descriptor with a learned bias alpha per class. (..., batch, d) -> BiasedDescription."""

    def __init__(self, n_classes: int, dim: int) -> None:
        super().__init__()
        self.descriptor = GaussianDescriptor(n_classes, dim)
        self.alphas = nn.Parameter(torch.zeros(n_classes))

    def forward(self, embedding: Tensor) -> BiasedDescription:
        """Describe embeddings."""
        description = self.descriptor(embedding)
        return BiasedDescription(description, self.alphas.unsqueeze(-2) - description.distance)


class DeepMCDDLoss(nn.Module):
    """Mean pull loss plus mean cross-entropy."""

    def __init__(self) -> None:
        super().__init__()
        self.pull = PullLoss(reduction="mean")

    def forward(
        self,
        output: BiasedDescription,
        y: Tensor,
        *,
        rows: Tensor | None = None,
        present: Tensor | None = None,
    ) -> Tensor:
        """Return the loss per member."""
        pull: Tensor = self.pull(output.description, y, rows=rows, present=present)
        return pull + cross_entropy(output.logits, y, rows=rows, present=present)
