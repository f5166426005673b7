"""Loss and gradients of a GaussianDescriptor under GDITDLoss, written out by hand, for training on a CPU.

The tensors of the head are small: what takes time is not arithmetic but calling kernels. So there are as few of them
as possible, and what is not a matrix product is done by numpy, on the same memory, whose calls cost a third of
torch's. Classes come before rows in all arrays, (members, classes, batch), so that sums over a handful of classes run
along contiguous rows. A test holds every number against autograd.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gditd.nn.descriptor import LARGEST_DISTANCE, GaussianDescriptor
from gditd.nn.losses import (
    ABSENT_LOGIT,
    DISTANCE_OFFSET,
    LARGEST_EXPONENT,
    SMALLEST_EXPONENT,
    GDITDLoss,
    batch_size,
    class_weights,
    mean_one,
)
from gditd.training.objectives import Slopes

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Prepared:
    """What does not change when the head does: embeddings, their squared norms, and all that labels decide."""

    embedding: Tensor
    norms: Array  # (members, 1, batch)
    own: NDArray[np.int64]  # where each row's own class is in a flat (members, classes, batch) array: (members, batch)
    push: Array  # factors of exp(zeta) in the score loss, 0 for the own class (members, classes, batch)
    absent: NDArray[np.bool_] | None  # True for classes the member does not know (members, classes, 1)
    weights: Array  # effective class weights (members, batch)
    scale: Array | None  # what a row counts (members, batch); None: every row counts 1


class ClosedFormObjective:
    """The net loss of stacked descriptors and its gradients."""

    def __init__(self, head: GaussianDescriptor, loss: GDITDLoss) -> None:
        self.dim = head.dim
        self.n_classes = head.n_classes
        self.gamma = loss.efl1.gamma
        self.beta = loss.efl1.beta
        self.push = loss.score.push
        self.average = loss.pull.reduction == "mean"
        self.weights = loss.weights

    @np.errstate(all="ignore")  # whether training diverges is looked at where epochs end
    def prepare(self, embedding: Tensor, y: Tensor, rows: Tensor | None, present: Tensor | None) -> Prepared:
        """Do once per batch what both halves of block descent share."""
        real = embedding.new_ones(y.shape) if rows is None else rows.to(embedding.dtype)
        size = batch_size(real, real).unsqueeze(1)
        n_members, n_rows = y.shape
        own = y.numpy() * n_rows + flat_places(n_members, self.n_classes, n_rows)
        push = np.empty((n_members, self.n_classes, n_rows), dtype=real.numpy().dtype)
        push[:] = (self.push / size).numpy()[:, None]
        if present is not None:
            push *= present.unsqueeze(2).numpy()
        push.put(own, 0)
        scale = real / size if self.average else (None if rows is None else real)
        return Prepared(
            embedding=embedding,
            norms=np.vecdot(embedding.numpy(), embedding.numpy())[:, None],
            own=own,
            push=push,
            absent=None if present is None else ~present.unsqueeze(2).numpy(),
            weights=self._row_weights(y.numpy(), real, size),
            scale=None if scale is None else scale.numpy(),
        )

    def _row_weights(self, y: NDArray[np.int64], real: Tensor, size: Tensor) -> Array:
        """Effective class weights (members, batch), as `effective_weights` has them."""
        class_of_row = y + self.n_classes * np.arange(len(y))[:, None]
        shape = (len(y), self.n_classes)
        counts = np.bincount(class_of_row.ravel(), weights=real.numpy().ravel(), minlength=shape[0] * shape[1])
        by_class = class_weights(torch.from_numpy(counts.reshape(shape)), size.double(), self.beta).numpy()
        weights = by_class.astype(real.numpy().dtype).take(class_of_row)
        return weights if self.beta == "paper" else mean_one(torch.from_numpy(weights), real, size).numpy()

    @torch.no_grad()
    @np.errstate(all="ignore")
    def slopes(self, head: dict[str, Tensor], at: Prepared, *, of_head: bool, of_embedding: bool) -> Slopes:
        """Return the loss of each member and the gradients asked for."""
        centers, log_radii = head["centers"], head["log_radii"].clamp_(min=0).unsqueeze(2).numpy()
        radii = np.exp(log_radii)
        precision = 1 / (radii * radii)
        offset = self.dim * log_radii
        distance = self._distance(centers, precision / 2, offset, at)
        loss, by_zeta, by_distance = self._row_slopes(distance, radii - distance, at)
        by_distance -= by_zeta  # zeta = sigma - D
        if at.scale is not None:
            loss *= at.scale
            by_zeta *= at.scale[:, None]
            by_distance *= at.scale[:, None]
        weighted = torch.from_numpy(by_distance * precision)
        by_head = None
        if of_head:
            by_centers = torch.baddbmm(weighted.sum(2, keepdim=True) * centers, weighted, at.embedding, alpha=-1)
            spread = (self.dim + 2 * offset) - 2 * distance
            by_radii = by_zeta.sum(2) * radii[..., 0] + np.einsum("mkb,mkb->mk", spread, by_distance)
            by_head = {"centers": by_centers, "log_radii": torch.from_numpy(by_radii)}
        by_embedding = None
        if of_embedding:
            total = at.embedding * weighted.sum(1).unsqueeze(2)
            by_embedding = total.baddbmm_(weighted.mT, centers, alpha=-1)
        return Slopes(torch.from_numpy(loss.sum(1)), by_head, by_embedding)

    @staticmethod
    def _distance(centers: Tensor, half_precision: Array, offset: Array, at: Prepared) -> Array:
        """D (members, classes, batch): the square expanded, so that it is one matrix product."""
        scaled = centers * torch.from_numpy(half_precision)
        constant = torch.linalg.vecdot(scaled, centers).unsqueeze(2).numpy() + offset
        distance: Array = torch.bmm(scaled, at.embedding.mT).numpy()
        distance *= -2
        distance += constant
        distance += half_precision * at.norms
        return np.clip(distance, 0, LARGEST_DISTANCE, out=distance)

    def _row_slopes(self, distance: Array, zeta: Array, at: Prepared) -> tuple[Array, Array, Array]:
        """Loss per row (members, batch), and its slopes by zeta and by D as if they were independent.

        Slopes for the own class alone are gathered first and added in one go.
        """
        loss = distance.take(at.own) * distance.dtype.type(self.weights["pull"])
        own_by_zeta = np.zeros_like(loss)
        by_zeta, by_distance = np.zeros_like(zeta), np.zeros_like(distance)
        if self.weights["score"]:
            loss += self._score(zeta, at, by_zeta, own_by_zeta)
        if self.weights["efl2"]:
            loss += self._focal(zeta, at, self.weights["efl2"], by_zeta, own_by_zeta)
        by_zeta.reshape(-1)[at.own] += own_by_zeta
        if self.weights["efl1"]:
            inverse = 1 / (distance + DISTANCE_OFFSET)
            own_by_inverse = np.zeros_like(loss)
            loss += self._focal(inverse, at, self.weights["efl1"], by_distance, own_by_inverse)
            by_distance.reshape(-1)[at.own] += own_by_inverse
            inverse *= inverse
            by_distance *= np.negative(inverse, out=inverse)  # d(1/D)/dD = -1/D^2
        by_distance.reshape(-1)[at.own] += self.weights["pull"]
        return loss, by_zeta, by_distance

    def _score(self, zeta: Array, at: Prepared, by_zeta: Array, own_by_zeta: Array) -> Array:
        weight = self.weights["score"]
        own = zeta.take(at.own)
        # The slope of the bounded exp(zeta); where it stops growing, the value goes on as a straight line.
        push = np.clip(zeta, SMALLEST_EXPONENT, LARGEST_EXPONENT)
        np.exp(push, out=push)
        push *= at.push
        by_zeta += push if weight == 1 else weight * push
        own_by_zeta += weight * (2 * own / (1 + own * own) - (own < 0))
        if zeta.max(initial=0) > LARGEST_EXPONENT:
            push *= 1 + np.maximum(zeta - LARGEST_EXPONENT, 0)
        log_term = 2 * np.log(np.hypot(own, own.dtype.type(1)))
        loss: Array = weight * (push.sum(1) + np.maximum(-own, 0) + log_term)
        return loss

    def _focal(self, logits: Array, at: Prepared, weight: float, by_logits: Array, own_slopes: Array) -> Array:
        """Add the slopes of the focal loss over a softmax of `logits` and return its value per row."""
        if at.absent is not None:
            logits = np.where(at.absent, logits.dtype.type(ABSENT_LOGIT), logits)
        largest = logits.max(axis=1)
        p = logits - largest[:, None]
        np.maximum(p, SMALLEST_EXPONENT, out=p)
        np.exp(p, out=p)
        total = p.sum(axis=1)
        log_p = logits.take(at.own) - largest - np.log(total)
        factor = self._focusing_factor(log_p)
        row_weights = at.weights if weight == 1 else weight * at.weights
        slope = row_weights * (factor - self._focusing_slope(log_p))
        p *= (slope / total)[:, None]
        by_logits += p
        own_slopes -= slope
        loss: Array = -row_weights * factor * log_p
        return loss

    def _focusing_factor(self, log_p: Array) -> Array:
        """(1 - p)^gamma."""
        if self.gamma == 0:
            return np.ones_like(log_p)
        one_minus_p = -np.expm1(log_p)
        return one_minus_p if self.gamma == 1 else np.maximum(one_minus_p, 1e-6) ** self.gamma

    def _focusing_slope(self, log_p: Array) -> Array | float:
        """p log p times gamma (1 - p)^(gamma - 1): what the factor's own slope adds."""
        if self.gamma == 0:
            return 0.0
        entropy: Array = np.exp(log_p) * log_p
        if self.gamma == 1:
            return entropy
        return self.gamma * entropy * np.maximum(-np.expm1(log_p), 1e-6) ** (self.gamma - 1)


@lru_cache(maxsize=8)
def flat_places(n_members: int, n_classes: int, n_rows: int) -> NDArray[np.int64]:
    """Where each row of each member is under class 0 in a flat (members, classes, batch) array: (members, batch)."""
    return np.arange(n_members)[:, None] * (n_classes * n_rows) + np.arange(n_rows)
