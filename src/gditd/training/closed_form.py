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
    SMALLEST_DISTANCE,
    SMALLEST_EXPONENT,
    GDITDLoss,
    batch_size,
    bounded_exp,
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
    own: Tensor  # (members, classes, batch), 1 for a row's own class
    others: Tensor  # 1 for the present classes a row does not belong to
    absent: Tensor | None  # True for classes the member does not know
    weights: Tensor  # effective class weights (members, 1, batch)
    scale: Tensor  # what a row counts: its mask, over the batch size for mean reduction (members, 1, batch)
    push: Tensor  # factor of exp(zeta) in the score loss (members, 1, 1)


class ClosedFormObjective:
    """The net loss of stacked descriptors and its gradients."""

    def __init__(self, head: GaussianDescriptor, loss: GDITDLoss) -> None:
        self.dim = head.dim
        self.n_classes = head.n_classes
        self.terms = loss

    def prepare(self, embedding: Tensor, y: Tensor, rows: Tensor | None, present: Tensor | None) -> Prepared:
        """Do once per batch what both halves of block descent share."""
        real = embedding.new_ones(y.shape) if rows is None else rows
        own = embedding.new_zeros((len(y), self.n_classes, y.shape[1])).scatter_(1, y.unsqueeze(1), 1)
        others = 1 - own if present is None else (1 - own) * present.unsqueeze(2)
        size = batch_size(real, real).unsqueeze(1)
        return Prepared(
            embedding=embedding,
            norms=(embedding * embedding).sum(2).unsqueeze(1),
            own=own,
            others=others,
            absent=None if present is None else ~present.unsqueeze(2),
            weights=effective_weights(y, real, self.n_classes, self.terms.efl1.beta).unsqueeze(1),
            scale=(real / size if self.terms.pull.reduction == "mean" else real).unsqueeze(1),
            push=(self.terms.score.push / size).unsqueeze(1),
        )

    def slopes(self, head: dict[str, Tensor], at: Prepared, *, of_head: bool, of_embedding: bool) -> Slopes:
        """Return the loss of each member and the gradients asked for."""
        with torch.no_grad():
            return self._slopes(head, at, of_head, of_embedding)

    def _slopes(self, head: dict[str, Tensor], at: Prepared, of_head: bool, of_embedding: bool) -> Slopes:
        head["log_radii"].clamp_(min=0)
        centers, log_radii = head["centers"], head["log_radii"].unsqueeze(2)
        precision = (-2 * log_radii).exp()
        offset = self.dim * log_radii
        squared = torch.baddbmm(at.norms, centers, at.embedding.mT, alpha=-2)
        squared = squared.add_((centers * centers).sum(2, keepdim=True)).clamp_min_(0)
        distance = squared.mul_(precision / 2).add_(offset)
        zeta = log_radii.exp() - distance
        loss, by_zeta, by_distance = self._row_slopes(distance, zeta, at)
        by_distance = by_distance.sub_(by_zeta).mul_(at.scale)  # zeta = sigma - D
        weighted = by_distance * precision
        head_slopes = None
        if of_head:
            by_centers = torch.baddbmm(
                weighted.sum(2, keepdim=True) * centers, weighted, at.embedding, beta=1, alpha=-1
            )
            by_radii = (by_zeta * at.scale).sum(2) * log_radii.squeeze(2).exp()
            by_radii += (by_distance * (self.dim - 2 * (distance - offset))).sum(2)
            head_slopes = {"centers": by_centers, "log_radii": by_radii}
        by_embedding = None
        if of_embedding:
            total = at.embedding * weighted.sum(1).unsqueeze(2)
            by_embedding = total.baddbmm_(weighted.mT, centers, alpha=-1)
        return Slopes((loss * at.scale).sum((1, 2)), head_slopes, by_embedding)

    def _row_slopes(self, distance: Tensor, zeta: Tensor, at: Prepared) -> tuple[Tensor, Tensor, Tensor]:
        """Loss per row (members, 1, batch), and its slopes by zeta and by D as if they were independent."""
        weights = self.terms.weights
        loss = torch.zeros_like(at.scale)
        by_zeta = torch.zeros_like(zeta)
        by_distance = at.own * weights["pull"]
        if weights["pull"]:
            loss += (distance * by_distance).sum(1, keepdim=True)
        if weights["score"]:
            loss += self._add_score(zeta, at, by_zeta, weights["score"])
        if weights["efl2"]:
            loss += self._add_focal(zeta, at, by_zeta, weights["efl2"])
        if weights["efl1"]:
            inverse = distance.clamp_min(SMALLEST_DISTANCE).reciprocal_()
            by_inverse = torch.zeros_like(inverse)
            loss += self._add_focal(inverse, at, by_inverse, weights["efl1"])
            # d(1/D)/dD = -1/D^2, and 0 where 1/D is cut off.
            by_distance -= by_inverse.mul_(inverse).mul_(inverse).mul_(distance >= SMALLEST_DISTANCE)
        return loss, by_zeta, by_distance

    def _add_score(self, zeta: Tensor, at: Prepared, by_zeta: Tensor, weight: float) -> Tensor:
        own = (zeta * at.own).sum(1, keepdim=True)
        push = bounded_exp(zeta).mul_(at.others).mul_(at.push)
        slope_own = 2 * own / (1 + own * own) - (own < 0).to(own.dtype)
        by_zeta.add_(push, alpha=weight).addcmul_(at.own, slope_own, value=weight)
        return weight * (push.sum(1, keepdim=True) + torch.relu(-own) + log_one_plus_square(own))

    def _add_focal(self, logits: Tensor, at: Prepared, by_logits: Tensor, weight: float) -> Tensor:
        gamma = self.terms.efl1.gamma
        if at.absent is not None:
            logits = logits.masked_fill(at.absent, -LARGEST_DISTANCE)
        centred = logits - logits.amax(1, keepdim=True)
        p = centred.clamp_min(SMALLEST_EXPONENT).exp_()
        total = p.sum(1, keepdim=True)
        p = p.div_(total)
        log_p = centred.mul_(at.own).sum(1, keepdim=True).sub_(total.log_())
        own_p = log_p.exp()
        factor = focusing_factor(log_p, gamma)
        slope = (factor - own_p.mul_(log_p) * self._focusing_slope(log_p, gamma)) * at.weights
        by_logits.addcmul_(p.sub_(at.own), slope, value=weight)
        return log_p.mul_(at.weights).mul_(factor).mul_(-weight)

    @staticmethod
    def _focusing_slope(log_p: Tensor, gamma: float) -> Tensor | float:
        """Gamma (1 - p)^(gamma - 1)."""
        if gamma in (0, 1):
            return gamma
        return -torch.expm1(log_p).clamp_max(-1e-6).pow(gamma - 1) * gamma
