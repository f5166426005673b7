"""Loss and gradients of a GaussianDescriptor under GDITDLoss, written out by hand.

Autograd needs some eighty small kernels for what takes a third of them here, and small kernels are what training
small networks spends its time on. Classes come before rows in all tensors, (members, classes, batch), so that sums
over a handful of classes run along contiguous rows. A test holds every number against autograd.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gditd.nn.descriptor import LARGEST_DISTANCE, GaussianDescriptor
from gditd.nn.losses import (
    ABSENT_LOGIT,
    DISTANCE_OFFSET,
    LARGEST_EXPONENT,
    SMALLEST_EXPONENT,
    GDITDLoss,
    batch_size,
    effective_weights,
    focusing_factor,
    log_one_plus_square,
)
from gditd.training.objectives import Slopes


@dataclass(frozen=True)
class Prepared:
    """What does not change when the head does: embeddings, their squared norms, and all that labels decide."""

    embedding: Tensor
    norms: Tensor  # (members, 1, batch)
    labels: Tensor  # (members, 1, batch)
    push: Tensor  # factors of exp(zeta) in the score loss, 0 for the own class (members, classes, batch)
    absent: Tensor | None  # True for classes the member does not know (members, classes, 1)
    weights: Tensor  # effective class weights (members, 1, batch)
    scale: Tensor | None  # what a row counts (members, 1, batch); None: every row counts 1


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

    def prepare(self, embedding: Tensor, y: Tensor, rows: Tensor | None, present: Tensor | None) -> Prepared:
        """Do once per batch what both halves of block descent share."""
        rows = None if rows is None else rows.to(embedding.dtype)
        real = embedding.new_ones(y.shape) if rows is None else rows
        size = batch_size(real, real).unsqueeze(1)
        labels = y.unsqueeze(1)
        push = (self.push / size).unsqueeze(1).expand(-1, self.n_classes, y.shape[1]).clone()
        if present is not None:
            push *= present.unsqueeze(2)
        return Prepared(
            embedding=embedding,
            norms=(embedding * embedding).sum(2).unsqueeze(1),
            labels=labels,
            push=push.scatter_(1, labels, 0),
            absent=None if present is None else ~present.unsqueeze(2),
            weights=effective_weights(y, real, self.n_classes, self.beta).unsqueeze(1),
            scale=(real / size).unsqueeze(1) if self.average else (None if rows is None else rows.unsqueeze(1)),
        )

    @torch.no_grad()
    def slopes(self, head: dict[str, Tensor], at: Prepared, *, of_head: bool, of_embedding: bool) -> Slopes:
        """Return the loss of each member and the gradients asked for."""
        centers, log_radii = head["centers"], head["log_radii"].clamp_(min=0).unsqueeze(2)
        precision = torch.exp(log_radii * -2)
        radii = torch.exp(log_radii)
        offset = log_radii * self.dim
        distance = self._distance(centers, precision / 2, offset, at)
        loss, by_zeta, by_distance = self._row_slopes(distance, radii - distance, at)
        by_distance = by_distance.sub_(by_zeta)  # zeta = sigma - D
        if at.scale is not None:
            loss, by_zeta, by_distance = loss * at.scale, by_zeta.mul_(at.scale), by_distance.mul_(at.scale)
        weighted = by_distance * precision
        by_head = None
        if of_head:
            by_centers = torch.baddbmm(weighted.sum(2, keepdim=True) * centers, weighted, at.embedding, alpha=-1)
            by_spread = (distance.sub_(offset).mul_(-2).add_(self.dim)).mul_(by_distance)
            by_radii = (by_zeta.sum(2, keepdim=True).mul_(radii)).add_(by_spread.sum(2, keepdim=True))
            by_head = {"centers": by_centers, "log_radii": by_radii.squeeze(2)}
        by_embedding = None
        if of_embedding:
            total = at.embedding * weighted.sum(1).unsqueeze(2)
            by_embedding = total.baddbmm_(weighted.mT, centers, alpha=-1)
        return Slopes(loss.sum((1, 2)), by_head, by_embedding)

    @staticmethod
    def _distance(centers: Tensor, half_precision: Tensor, offset: Tensor, at: Prepared) -> Tensor:
        """D (members, classes, batch): the square expanded, so that it is one matrix product."""
        scaled = centers * half_precision
        constant = (scaled * centers).sum(2, keepdim=True).add_(offset)
        distance = torch.baddbmm(constant, scaled, at.embedding.mT, alpha=-2)
        return distance.addcmul_(half_precision, at.norms).clamp_(0, LARGEST_DISTANCE)

    def _row_slopes(self, distance: Tensor, zeta: Tensor, at: Prepared) -> tuple[Tensor, Tensor, Tensor]:
        """Loss per row (members, 1, batch), and its slopes by zeta and by D as if they were independent.

        Slopes for the own class alone are gathered first and added in one go.
        """
        loss = distance.gather(1, at.labels).mul_(self.weights["pull"])
        own_by_distance = torch.full_like(loss, self.weights["pull"])
        own_by_zeta = torch.zeros_like(loss)
        by_zeta = torch.zeros_like(zeta)
        by_distance = torch.zeros_like(distance)
        if self.weights["score"]:
            loss += self._score(zeta, at, by_zeta, own_by_zeta)
        if self.weights["efl2"]:
            loss += self._focal(zeta, at, self.weights["efl2"], by_zeta, own_by_zeta)
        by_zeta.scatter_add_(1, at.labels, own_by_zeta)
        if self.weights["efl1"]:
            inverse = (distance + DISTANCE_OFFSET).reciprocal_()
            own_by_inverse = torch.zeros_like(loss)
            loss += self._focal(inverse, at, self.weights["efl1"], by_distance, own_by_inverse)
            by_distance.scatter_add_(1, at.labels, own_by_inverse)
            by_distance.mul_(inverse).mul_(inverse.neg_())  # d(1/D)/dD = -1/D^2
        by_distance.scatter_add_(1, at.labels, own_by_distance)
        return loss, by_zeta, by_distance

    def _score(self, zeta: Tensor, at: Prepared, by_zeta: Tensor, own_by_zeta: Tensor) -> Tensor:
        weight = self.weights["score"]
        own = zeta.gather(1, at.labels)
        # The slope of the bounded exp(zeta); where it stops growing, the value goes on as a straight line.
        push = zeta.clamp(SMALLEST_EXPONENT, LARGEST_EXPONENT).exp_().mul_(at.push)
        pushed = (zeta - LARGEST_EXPONENT).relu_().add_(1).mul_(push)
        by_zeta.add_(push, alpha=weight)
        slope = (own + own).div_(torch.addcmul(torch.ones_like(own), own, own)).sub_((own < 0).to(own.dtype))
        own_by_zeta.add_(slope, alpha=weight)
        return pushed.sum(1, keepdim=True).add_(torch.relu(-own)).add_(log_one_plus_square(own)).mul_(weight)

    def _focal(self, logits: Tensor, at: Prepared, weight: float, by_logits: Tensor, own_slopes: Tensor) -> Tensor:
        """Add the slopes of the focal loss over a softmax of `logits` and return its value per row."""
        if at.absent is not None:
            logits = logits.masked_fill(at.absent, ABSENT_LOGIT)
        largest = logits.amax(1, keepdim=True)
        p = (logits - largest).clamp_min_(SMALLEST_EXPONENT).exp_()
        total = p.sum(1, keepdim=True)
        log_p = logits.gather(1, at.labels).sub_(largest).sub_(total.log())
        factor = focusing_factor(log_p, self.gamma)
        slope = (at.weights * (factor - self._focusing_slope(log_p))).mul_(weight)
        by_logits.addcmul_(p, slope / total)
        own_slopes.sub_(slope)
        return log_p.mul_(factor).mul_(at.weights).mul_(-weight)

    def _focusing_slope(self, log_p: Tensor) -> Tensor | float:
        """p log p times gamma (1 - p)^(gamma - 1): what the factor's own slope adds."""
        if self.gamma == 0:
            return 0.0
        entropy = log_p.exp().mul_(log_p)
        if self.gamma == 1:
            return entropy
        return entropy.mul_(torch.expm1(log_p).neg_().clamp_min_(1e-6).pow_(self.gamma - 1)).mul_(self.gamma)
