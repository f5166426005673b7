"""The stacked parameters of the members in training, and one step of descent on all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gditd.nn import GaussianDescriptor, GDITDLoss
from gditd.training.closed_form import ClosedFormObjective
from gditd.training.objectives import AutogradObjective, Loss, Objective, Slopes
from gditd.training.programs import Program
from gditd.training.state import prefixed, under
from gditd.training.team import Share


@dataclass(frozen=True)
class Architecture:
    """What all members share: how to run the network, the head, and the loss on the head's output."""

    program: Program
    network: nn.Module
    head: nn.Module
    loss: Loss

    def train(self, mode: bool) -> None:
        """Switch network and head between training and evaluation."""
        self.network.train(mode)
        self.head.train(mode)


def choose_objective(head: nn.Module, loss: Loss, device: torch.device) -> Objective:
    """Take the hand-written gradients where they exist."""
    if device.type == "cpu" and type(head) is GaussianDescriptor and type(loss) is GDITDLoss:
        return ClosedFormObjective(head, loss)
    return AutogradObjective(head, loss)


class Stack:
    """Members in training: network and head tensors of shape (members, ...) and their optimisers."""

    def __init__(
        self,
        architecture: Architecture,
        network: dict[str, Tensor],
        head: dict[str, Tensor],
        *,
        learning_rate: float,
        block_descent: bool,
    ) -> None:
        self.architecture = architecture
        self.block_descent = block_descent
        self.network = _Block(network, architecture.network.named_parameters(), learning_rate)
        self.head = _Block(head, architecture.head.named_parameters(), learning_rate)
        device = next(iter(head.values())).device
        self.objective = choose_objective(architecture.head, architecture.loss, device)

    def step(self, x: Tensor, y: Tensor, rows: Tensor | None, present: Tensor | None, share: Share) -> Tensor:
        """Descend once on a batch and return each member's loss before it.

        x (members, own rows, features) is this process's share of the batch, y (members, batch) all of it.

        Block coordinate descent updates the head with the network fixed, then the network with the new head
        fixed. In this order both updates share one forward pass of the network, for its embedding does not
        change when the head does.
        """
        embedding, pullback = self.architecture.program.with_pullback(self.network.tensors, x)
        at = self.objective.prepare(share.gathered(embedding), y, rows, present)
        slopes = self._slopes(at, of_head=True, of_embedding=not self.block_descent)
        self.head.descend(slopes.head)
        loss = slopes.loss
        if self.block_descent:
            slopes = self._slopes(at, of_head=False, of_embedding=True)
        assert slopes.embedding is not None
        self.network.descend(share.summed(pullback(slopes.embedding[:, share.own])))
        return loss

    def _slopes(self, at: Any, *, of_head: bool, of_embedding: bool) -> Slopes:
        return self.objective.slopes(self.head.tensors, at, of_head=of_head, of_embedding=of_embedding)

    def keep(self, positions: Tensor) -> None:
        """Go on with these members only."""
        self.network.keep(positions)
        self.head.keep(positions)

    def state(self) -> dict[str, Tensor]:
        """All that the next step depends on."""
        return prefixed("network", self.network.state()) | prefixed("head", self.head.state())

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go on from a state; ValueError where it is of other tensors."""
        self.network.restore(under("network", state))
        self.head.restore(under("head", state))


class _Block:
    """A block of coordinates: named tensors, those of them that learn, and an Adam for these."""

    def __init__(
        self, tensors: dict[str, Tensor], parameters: Iterable[tuple[str, nn.Parameter]], learning_rate: float
    ) -> None:
        self.learning = [name for name, parameter in parameters if parameter.requires_grad]
        self.learning_rate = learning_rate
        self._hold(tensors)

    def _hold(self, tensors: dict[str, Tensor]) -> None:
        self.tensors = {
            name: value.detach().clone(memory_format=torch.contiguous_format) for name, value in tensors.items()
        }
        self.parameters = [self.tensors[name].requires_grad_() for name in self.learning]
        self.optimiser = torch.optim.Adam([{"params": self.parameters}], lr=self.learning_rate, fused=True)

    def descend(self, gradients: dict[str, Tensor] | None) -> None:
        if not gradients:  # a frozen network leaves only the head to learn
            return
        for name, gradient in gradients.items():
            # The fused Adam reads memory in order and ignores strides.
            self.tensors[name].grad = gradient.contiguous()
        self.optimiser.step()

    def keep(self, positions: Tensor) -> None:
        moments = [self.optimiser.state[parameter] for parameter in self.parameters]
        self._hold({name: value[positions] for name, value in self.tensors.items()})
        for parameter, state in zip(self.parameters, moments, strict=True):
            self.optimiser.state[parameter] = {
                name: value[positions] if value.ndim else value for name, value in state.items()
            }

    def state(self) -> dict[str, Tensor]:
        moments = {
            f"{name}.{moment}": value
            for name, parameter in zip(self.learning, self.parameters, strict=True)
            for moment, value in self.optimiser.state[parameter].items()
        }
        return prefixed("tensors", self.tensors) | prefixed("moments", moments)

    def restore(self, state: dict[str, Tensor]) -> None:
        tensors, moments = under("tensors", state), under("moments", state)
        device = next(iter(self.tensors.values())).device
        self._hold({name: tensors[name].to(device) for name in self.tensors})
        for name, parameter in zip(self.learning, self.parameters, strict=True):
            own = under(name, moments)
            # Adam counts its steps where the parameter is, or on the CPU.
            self.optimiser.state[parameter] = {moment: value.to(device) for moment, value in own.items()}
