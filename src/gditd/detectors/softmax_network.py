"""The plain softmax classifier that several detectors look at in different ways."""

from __future__ import annotations

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from gditd.detectors.base import FloatArray
from gditd.detectors.network import NetworkDetector
from gditd.nn import StackableLinear
from gditd.training.objectives import Loss


class SoftmaxNetwork(NetworkDetector):
    """A network with a linear layer on its embedding, trained by cross-entropy."""

    def class_scores(self, X: ArrayLike) -> FloatArray:
        """Log of the members' mean probability."""
        return self._apply(X, lambda _, logits: mean_log_probability(logits))

    def _head(self, dim: int, n_classes: int) -> nn.Module:
        return StackableLinear(dim, n_classes)

    def _loss(self) -> Loss:
        return cross_entropy


def mean_log_probability(logits: Tensor) -> Tensor:
    """(members, n, classes) -> the log of the mean probability (n, classes)."""
    return logits.log_softmax(-1).logsumexp(0) - torch.tensor(float(len(logits))).log()


def cross_entropy(logits: Tensor, y: Tensor, *, rows: Tensor | None = None, present: Tensor | None = None) -> Tensor:
    """Mean cross-entropy per member; logits (members, batch, classes) -> (members,)."""
    if present is not None:
        logits = logits.masked_fill(~present.unsqueeze(-2), -torch.inf)
    losses = -logits.log_softmax(-1).gather(-1, y.unsqueeze(-1)).squeeze(-1)
    return losses.mean(-1) if rows is None else (losses * rows).sum(-1) / rows.sum(-1)
