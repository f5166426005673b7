"""The Gaussian descriptor head: a centre and a radius per class."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

# Squared distances are cut off here, so that neither a loss built on them nor its gradient can overflow float32.
LARGEST_DISTANCE = 1e30


class Description(NamedTuple):
    """What the head says of a batch; both tensors have shape (..., batch, classes)."""

    distance: Tensor
    """D_i(x) >= 0, the negative log density of class i's Gaussian up to a constant."""
    zeta: Tensor
    """zeta_i(x) = sigma_i - D_i(x); positive means inside class i's sphere."""


class GaussianDescriptor(nn.Module):
    """Describe each class as an isotropic Gaussian in the embedding. (..., batch, d) -> Description.

    D_i(x) = |f(x) - mu_i|^2 / (2 sigma_i^2) + d log(sigma_i) and zeta_i(x) = sigma_i - D_i(x).

    The radius is stored as its logarithm and never goes below 1, so that D >= 0 and 1/D has a meaning. In training
    mode, a forward pass first puts log radii that an optimiser step pushed below zero back on that boundary, where
    the gradient can make them grow again (projected gradient descent; a plain ReLU would leave them dead).

    All operations broadcast over leading dimensions, so stacked parameters of many members work too.
    """

    def __init__(self, n_classes: int, dim: int) -> None:
        super().__init__()
        if n_classes < 1 or dim < 1:
            raise ValueError(f"n_classes and dim must be at least 1, got {n_classes} and {dim}")
        self.n_classes = n_classes
        self.dim = dim
        self.centers = nn.Parameter(torch.empty(n_classes, dim))
        self.log_radii = nn.Parameter(torch.zeros(n_classes))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw centres from a standard normal: they start about sqrt(2 d) apart, so no two classes coincide."""
        nn.init.normal_(self.centers)
        nn.init.zeros_(self.log_radii)

    @property
    def radii(self) -> Tensor:
        """Sigma, shape (..., classes), each at least 1."""
        return self.log_radii.clamp_min(0).exp()

    def forward(self, embedding: Tensor) -> Description:
        """Describe embeddings of shape (..., batch, d) without ever making a (batch, classes, d) tensor."""
        if self.training:
            # `.data`: this is part of the update rule, not of the graph of this pass.
            self.log_radii.data.clamp_(min=0)
        log_radii = self.log_radii.clamp_min(0)
        squared = squared_distances(embedding, self.centers)
        half_precision = (-2 * log_radii).exp() / 2
        distance = squared * half_precision.unsqueeze(-2) + (self.dim * log_radii).unsqueeze(-2)
        return Description(distance, log_radii.exp().unsqueeze(-2) - distance)

    def extra_repr(self) -> str:
        """Show the sizes in the module's repr."""
        return f"n_classes={self.n_classes}, dim={self.dim}"


def squared_distances(points: Tensor, centers: Tensor) -> Tensor:
    """|p - c|^2 for every pair, (..., n, d) and (..., k, d) -> (..., n, k), through one matrix product."""
    cross = points @ centers.mT
    squared = (points * points).sum(-1, keepdim=True) + (centers * centers).sum(-1).unsqueeze(-2) - 2 * cross
    return squared.clamp(0, LARGEST_DISTANCE)  # rounding can leave a tiny negative number where p equals c
