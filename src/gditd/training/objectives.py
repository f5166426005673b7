"""What a stack descends on: the loss of a head's output, as slopes with respect to head and embedding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.func import functional_call

Loss = Callable[..., Tensor]


@dataclass(frozen=True)
class Slopes:
    """The loss of each member (members,) and its gradients, where asked for."""

    loss: Tensor
    head: dict[str, Tensor] | None
    embedding: Tensor | None


class Objective(Protocol):
    """A loss on a head's output."""

    def prepare(self, embedding: Tensor, y: Tensor, rows: Tensor | None, present: Tensor | None) -> Any:
        """Do once per batch what does not depend on the head."""
        ...

    def slopes(self, head: dict[str, Tensor], at: Any, *, of_head: bool, of_embedding: bool) -> Slopes:
        """Return the loss and the gradients asked for, given the head's stacked tensors."""
        ...


@dataclass(frozen=True)
class _Batch:
    embedding: Tensor
    y: Tensor
    rows: Tensor | None
    present: Tensor | None


class AutogradObjective:
    """Any head and loss, differentiated by autograd."""

    def __init__(self, head: nn.Module, loss: Loss) -> None:
        self.head = head
        self.loss = loss
        self.learning = [name for name, parameter in head.named_parameters() if parameter.requires_grad]

    def prepare(self, embedding: Tensor, y: Tensor, rows: Tensor | None, present: Tensor | None) -> _Batch:
        """Nothing to do ahead."""
        return _Batch(embedding, y, rows, present)

    def slopes(self, head: dict[str, Tensor], at: _Batch, *, of_head: bool, of_embedding: bool) -> Slopes:
        """Run the head, then autograd."""
        point = at.embedding.detach().requires_grad_(of_embedding)
        output = functional_call(self.head, head, (point,))
        loss = self.loss(output, at.y, rows=at.rows, present=at.present)
        names = self.learning if of_head else []
        inputs = [head[name] for name in names] + ([point] if of_embedding else [])
        gradients = torch.autograd.grad(loss.sum(), inputs, allow_unused=True, materialize_grads=True)
        by_head = dict(zip(names, gradients, strict=False)) if of_head else None
        return Slopes(loss.detach(), by_head, gradients[-1] if of_embedding else None)
