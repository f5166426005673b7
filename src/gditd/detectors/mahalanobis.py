"""Mahalanobis distance to the class means of the embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from gditd.detectors.base import FloatArray
from gditd.detectors.softmax_network import SoftmaxNetwork
from gditd.model_file import Tensors

# Variance of a direction, as a share of the largest, that float32 embeddings have by rounding alone.
SMALLEST_SPREAD = 1e-12


class Mahalanobis(SoftmaxNetwork):
    """Distance to the nearest class mean under one tied covariance (Lee et al. 2018) of the embedding.

    Means and covariance are computed in float64. The covariance is the plain one, as in its authors' code: shrinking it
    (Ledoit and Wolf 2004) hides just the narrow directions in which OOD rows stand out. Directions whose spread is
    rounding only are left out.
    """

    means_: Tensor  # (members, classes, d), float64
    whitening_: Tensor  # (members, d, d): |(f - mu) @ whitening| is the Mahalanobis distance

    def ood_score(self, X: ArrayLike) -> FloatArray:
        """Squared distance to the nearest class mean, averaged over members."""
        return self._apply(X, lambda embedding, _: self._distances(embedding).amin(-1).mean(0))

    def _distances(self, embedding: Tensor) -> Tensor:
        """Squared Mahalanobis distances (members, n, classes)."""
        white = embedding.double() @ self.whitening_
        centers = self.means_ @ self.whitening_
        return torch.cdist(white, centers).square()

    def _after_training(self, x: Tensor, codes: NDArray[np.int64], n_classes: int) -> None:
        embeddings = self.cohort_.apply(x, lambda embedding, _: embedding.double().transpose(0, 1))
        members = [class_gaussians(e.numpy(), codes, n_classes) for e in embeddings.unbind(1)]
        self.means_ = torch.stack([means for means, _ in members]).to(self.cohort_.device)
        self.whitening_ = torch.stack([whitening for _, whitening in members]).to(self.cohort_.device)

    def _tensors(self) -> Tensors:
        return super()._tensors() | {"means": self.means_, "whitening": self.whitening_}

    def _restore(self, tensors: Tensors, document: dict[str, Any]) -> None:
        super()._restore(tensors, document)
        self.means_, self.whitening_ = (
            torch.as_tensor(tensors["means"]),
            torch.as_tensor(tensors["whitening"]),
        )


def class_gaussians(embedding: FloatArray, codes: NDArray[np.int64], n_classes: int) -> tuple[Tensor, Tensor]:
    """Class means (classes, d) and a whitening matrix (d, d) of the tied covariance."""
    means, values, vectors = class_axes(embedding, codes, n_classes)
    spread = values > max(values.max() * SMALLEST_SPREAD, np.finfo(np.float64).tiny)
    whitening = np.where(spread, vectors / np.sqrt(np.where(spread, values, 1.0)), 0.0)
    return torch.from_numpy(means), torch.from_numpy(whitening)


def class_axes(
    points: FloatArray, codes: NDArray[np.int64], n_classes: int, *, ridge: float = 0.0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Class means (classes, d), and variances (d,) along the axes (d, d) of the covariance within classes.

    `ridge` is added to every variance; every class has a point at least.
    """
    means = np.stack([points[codes == c].mean(axis=0) for c in range(n_classes)])
    within = points - means[codes]
    variances, axes = np.linalg.eigh(within.T @ within / len(points) + ridge * np.eye(points.shape[1]))
    return means, variances, axes
