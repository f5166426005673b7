"""The paper's four losses and their weighted sum.

Every loss takes a :class:`Description` with tensors of shape (..., batch, classes) and labels of shape
(..., batch), and returns a value per leading index: a scalar for a plain batch, (members,) for a stacked one.
Two optional masks make unequal members stackable: `rows` (..., batch) is 0 for padding, and `present`
(..., classes) is False for classes a member does not know.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gditd.nn.descriptor import Description

Beta = float | str

# 1/D is taken as 1/(D + this), so that it and its gradient stay finite on a centre.
DISTANCE_OFFSET = 1e-4
# exp(zeta) goes on as a straight line from here, so that its value and gradient stay finite.
LARGEST_EXPONENT = 20.0
# Below this, exp(x) counts as nothing. Products of smaller numbers would be denormal, which slows every kernel
# that touches them tenfold.
SMALLEST_EXPONENT = -40.0
# The logit of a class that a member does not know: below every real one, and finite, for padding rows may carry
# that label and 0 times infinity is not 0.
ABSENT_LOGIT = -1e32


class DescriptorLoss(nn.Module):
    """A loss on descriptions: a term per row, summed (as the paper does) or averaged over the batch."""

    def __init__(self, *, reduction: str = "sum") -> None:
        super().__init__()
        if reduction not in ("sum", "mean"):
            raise ValueError(f'reduction must be "sum" or "mean", got {reduction!r}')
        self.reduction = reduction

    def per_row(self, description: Description, y: Tensor, rows: Tensor | None, present: Tensor | None) -> Tensor:
        """Return the loss of every row, shape (..., batch)."""
        raise NotImplementedError

    def forward(
        self,
        description: Description,
        y: Tensor,
        *,
        rows: Tensor | None = None,
        present: Tensor | None = None,
    ) -> Tensor:
        """Return the loss per leading index."""
        if rows is not None:
            rows = rows.to(description.distance.dtype)  # a mask of booleans or integers cannot be counted with
        losses = self.per_row(description, y, rows, present)
        total = losses.sum(-1) if rows is None else (losses * rows).sum(-1)
        return total if self.reduction == "sum" else total / batch_size(losses, rows)


class PullLoss(DescriptorLoss):
    """Pull every row to its own class: the sum of D_y."""

    def per_row(self, description: Description, y: Tensor, rows: Tensor | None, present: Tensor | None) -> Tensor:
        """D_y."""
        return of_own_class(description.distance, y)


class ScoreLoss(DescriptorLoss):
    """Make zeta positive and small for a row's own class and negative for the others.

    Per row: push * sum_{i != y} exp(zeta_i) / |B| + ReLU(-zeta_y) + log(1 + zeta_y^2). The paper divides only
    the first part by the batch size |B|; `push` weighs that part.
    """

    def __init__(self, *, push: float = 1.0, reduction: str = "sum") -> None:
        super().__init__(reduction=reduction)
        if push < 0:
            raise ValueError(f"push must be at least 0, got {push}")
        self.push = push

    def per_row(self, description: Description, y: Tensor, rows: Tensor | None, present: Tensor | None) -> Tensor:
        """The part for other classes plus the part for the own class."""
        exponentials = bounded_exp(description.zeta)
        if present is not None:
            exponentials = exponentials * present.unsqueeze(-2)
        others = exponentials.scatter(-1, y.unsqueeze(-1), 0).sum(-1)
        own = of_own_class(description.zeta, y)
        size = batch_size(own, rows).unsqueeze(-1)
        return others * (self.push / size) + torch.relu(-own) + log_one_plus_square(own)


class EffectiveFocalLoss(DescriptorLoss):
    """-w_y (1 - p_y)^gamma log p_y with p a softmax over the classes and w_y = (1 - beta) / (1 - beta^n_y).

    n_y counts the rows of class y in the batch. `beta` is "paper" (1/|B|: every weight is within 0.5 % of 1),
    "effective" (1 - 1/|B| as Cui et al. 2019 use it: rare classes weigh more) or a number in [0, 1).
    Unless it is "paper", weights are scaled to mean 1 over the batch: otherwise this loss would shrink beside
    the other three.
    """

    def __init__(self, *, gamma: float = 1.0, beta: Beta = "paper", reduction: str = "sum") -> None:
        super().__init__(reduction=reduction)
        if gamma < 0:
            raise ValueError(f"gamma must be at least 0, got {gamma}")
        if not (beta in ("paper", "effective") or (isinstance(beta, int | float) and 0 <= beta < 1)):
            raise ValueError(f'beta must be "paper", "effective" or a number in [0, 1), got {beta!r}')
        self.gamma = gamma
        self.beta = beta

    def logits(self, description: Description) -> Tensor:
        """Return what the softmax is taken over."""
        raise NotImplementedError

    def per_row(self, description: Description, y: Tensor, rows: Tensor | None, present: Tensor | None) -> Tensor:
        """The weighted focal loss of each row."""
        logits = self.logits(description)
        if present is not None:
            logits = logits.masked_fill(~present.unsqueeze(-2), ABSENT_LOGIT)
        log_p = of_own_class(logits.log_softmax(-1), y)
        focal = -log_p * focusing_factor(log_p, self.gamma)
        real = torch.ones_like(log_p) if rows is None else rows
        return focal * effective_weights(y, real, logits.shape[-1], self.beta)


class DistanceFocalLoss(EffectiveFocalLoss):
    """EFL1: the effective focal loss over 1/D."""

    def logits(self, description: Description) -> Tensor:
        """1/D, bounded where D goes to zero."""
        return (description.distance + DISTANCE_OFFSET).reciprocal()


class ScoreFocalLoss(EffectiveFocalLoss):
    """EFL2: the effective focal loss over zeta."""

    def logits(self, description: Description) -> Tensor:
        """Zeta."""
        return description.zeta


class GDITDLoss(nn.Module):
    """The paper's net loss: pull + score + EFL1 + EFL2, each with a weight (0 leaves it out)."""

    def __init__(
        self,
        *,
        pull: float = 1.0,
        score: float = 1.0,
        efl1: float = 1.0,
        efl2: float = 1.0,
        gamma: float = 1.0,
        beta: Beta = "paper",
        push: float = 1.0,
        reduction: str = "sum",
    ) -> None:
        super().__init__()
        if min(pull, score, efl1, efl2) < 0 or max(pull, score, efl1, efl2) == 0:
            raise ValueError("loss weights must be at least 0, and one of pull, score, efl1 and efl2 above 0")
        self.weights = {"pull": pull, "score": score, "efl1": efl1, "efl2": efl2}
        self.pull = PullLoss(reduction=reduction)
        self.score = ScoreLoss(push=push, reduction=reduction)
        self.efl1 = DistanceFocalLoss(gamma=gamma, beta=beta, reduction=reduction)
        self.efl2 = ScoreFocalLoss(gamma=gamma, beta=beta, reduction=reduction)

    def forward(
        self,
        description: Description,
        y: Tensor,
        *,
        rows: Tensor | None = None,
        present: Tensor | None = None,
    ) -> Tensor:
        """Return the net loss per leading index."""
        values = [
            weight * getattr(self, name)(description, y, rows=rows, present=present)
            for name, weight in self.weights.items()
            if weight
        ]
        return torch.stack(values).sum(0)


def of_own_class(values: Tensor, y: Tensor) -> Tensor:
    """Pick each row's value for its own class: (..., batch, classes) -> (..., batch)."""
    return values.gather(-1, y.unsqueeze(-1)).squeeze(-1)


def batch_size(per_row: Tensor, rows: Tensor | None) -> Tensor:
    """Count the real rows of each batch, padding left out; never 0."""
    if rows is None:
        return per_row.new_tensor(float(max(per_row.shape[-1], 1)))
    return rows.sum(-1).clamp_min(1)


def bounded_exp(x: Tensor) -> Tensor:
    """exp(x) within bounds: its tangent above them, constant below."""
    return x.clamp(SMALLEST_EXPONENT, LARGEST_EXPONENT).exp() * (1 + torch.relu(x - LARGEST_EXPONENT))


def log_one_plus_square(x: Tensor) -> Tensor:
    """log(1 + x^2) that does not overflow for large x."""
    return 2 * torch.hypot(x, torch.ones_like(x)).log()


def focusing_factor(log_p: Tensor, gamma: float) -> Tensor:
    """(1 - p)^gamma from log p, without a gradient that explodes at p = 1."""
    if gamma == 0:
        return torch.ones_like(log_p)
    one_minus_p = -torch.expm1(log_p)
    return one_minus_p if gamma == 1 else one_minus_p.clamp_min(1e-6).pow(gamma)


def effective_weights(y: Tensor, rows: Tensor, n_classes: int, beta: Beta) -> Tensor:
    """Weigh each row by the effective number of rows its class has in the batch, shape (..., batch)."""
    counts = rows.new_zeros((*y.shape[:-1], n_classes)).scatter_add_(-1, y, rows)
    size = batch_size(rows, rows).unsqueeze(-1)
    weights = class_weights(counts, size, beta).gather(-1, y)
    return weights if beta == "paper" else mean_one(weights, rows, size)


def class_weights(counts: Tensor, size: Tensor, beta: Beta) -> Tensor:
    """Weights (1 - beta) / (1 - beta^n) of classes with these counts (..., classes) in batches of size (..., 1)."""
    novelty = one_minus_beta(size, beta)
    return novelty / -torch.expm1(counts.clamp_min(1) * torch.log1p(-novelty))


def mean_one(weights: Tensor, rows: Tensor, size: Tensor) -> Tensor:
    """Scale weights (..., batch) to mean 1 over the real rows."""
    # The weights of a class sum to at least 1, so only a batch of nothing but padding is cut off here.
    return weights * (size / (weights * rows).sum(-1, keepdim=True).clamp_min(1))


def one_minus_beta(size: Tensor, beta: Beta) -> Tensor:
    """Turn the `beta` setting into 1 - beta per batch of that size; never 0, where the weights would be 0/0."""
    if beta == "paper":
        return 1 - 1 / size.clamp_min(2)  # a single row weighs 1 whatever beta is
    if beta == "effective":
        return 1 / size
    return torch.full_like(size, 1 - float(beta))
