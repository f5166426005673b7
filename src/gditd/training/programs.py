"""Three ways to run many members of one architecture; a cohort takes the fastest that fits.

A program maps the members' parameters, each stacked to (members, ...), and inputs (members, batch, features)
to embeddings (members, batch, d).
"""

from __future__ import annotations

import copy
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor, nn
from torch.func import functional_call

from gditd.nn.backbones import MLP, Pullback

logger = logging.getLogger("gditd")

Tensors = Mapping[str, Tensor]


class Program(ABC):
    """How to call a network with the tensors of many members."""

    one_by_one = False
    """True if the program takes a single member at a time."""

    def __init__(self, network: nn.Module) -> None:
        self.network = network

    @abstractmethod
    def __call__(self, tensors: Tensors, x: Tensor) -> Tensor:
        """(members, batch, features) -> (members, batch, d)."""

    def layers(self, tensors: Tensors, x: Tensor) -> list[Tensor]:
        """Return the output of each layer that the network tells of, (members, batch, d) each, the embedding last."""
        return [self(tensors, x)]

    def bound(self, tensors: Tensors) -> Callable[[Tensor], list[Tensor]]:
        """Return `layers` for tensors that stay the same."""
        return partial(self.layers, tensors)

    def with_pullback(self, tensors: Tensors, x: Tensor) -> tuple[Tensor, Pullback]:
        """Embed, and return what turns the embedding's slope into those of the tensors that learn."""
        embedding = self(tensors, x)
        learning = {name: value for name, value in tensors.items() if value.requires_grad}

        def pullback(slope: Tensor) -> dict[str, Tensor]:
            if not learning:
                return {}
            slopes = torch.autograd.grad(
                embedding, list(learning.values()), slope, allow_unused=True, materialize_grads=True
            )
            return dict(zip(learning, slopes, strict=True))

        return embedding.detach(), pullback


class StackedProgram(Program):
    """For networks made of stackable layers: their own forward, given stacked parameters."""

    def with_pullback(self, tensors: Tensors, x: Tensor) -> tuple[Tensor, Pullback]:
        """Use the network's own hand-written gradients if it has them and all of it learns."""
        if type(self.network) is MLP and all(value.requires_grad for value in tensors.values()):
            return self.network.with_pullback(tensors, x)
        return super().with_pullback(tensors, x)

    def __call__(self, tensors: Tensors, x: Tensor) -> Tensor:
        """Run all members in batched matrix products."""
        out: Tensor = functional_call(self.network, dict(tensors), (x,))
        return out

    def layers(self, tensors: Tensors, x: Tensor) -> list[Tensor]:
        """Ask the network for its layers, if it can tell."""
        if not hasattr(self.network, "layer_outputs"):
            return super().layers(tensors, x)
        named = {f"network.{name}": value for name, value in tensors.items()}
        outputs: list[Tensor] = functional_call(LayerOutputs(self.network), named, (x,))
        return outputs

    def bound(self, tensors: Tensors) -> Callable[[Tensor], list[Tensor]]:
        """Let a copy of the network have the tensors."""
        if not hasattr(self.network, "layer_outputs"):
            return super().bound(tensors)
        return LayerOutputs(with_tensors(self.network, tensors))


class LayerOutputs(nn.Module):
    """A network whose output is that of all its layers: `functional_call` runs nothing but `forward`."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> list[Tensor]:
        """Run the network."""
        outputs: list[Tensor] = self.network.layer_outputs(x)  # type: ignore[operator]
        return outputs


class VmapProgram(Program):
    """For any network that `torch.func.vmap` can take."""

    def _one(self, tensors: dict[str, Tensor], x: Tensor) -> Tensor:
        out: Tensor = functional_call(self.network, tensors, (x,))
        return out

    def __call__(self, tensors: Tensors, x: Tensor) -> Tensor:
        """Run all members through a vectorised map."""
        mapped = torch.func.vmap(self._one, randomness="different")
        out: Tensor = mapped(dict(tensors), x)
        return out


class SingleProgram(Program):
    """For every other network: one member at a time, buffers (running means, say) updated in place."""

    one_by_one = True

    def __call__(self, tensors: Tensors, x: Tensor) -> Tensor:
        """Run the only member."""
        out: Tensor = functional_call(self.network, {name: value[0] for name, value in tensors.items()}, (x[0],))
        return out.unsqueeze(0)


def choose_program(network: nn.Module, n_features: int) -> Program:
    """Take the stacked program if the network offers it, vmap if it can be mapped, else one by one."""
    if vars(type(network)).get("stackable", False):  # its own word: what inherits from it may run otherwise
        return StackedProgram(network)
    mapped = VmapProgram(network)
    reason = why_not_mappable(mapped, n_features)
    if reason is None:
        return mapped
    logger.warning(
        "%s cannot be vectorised over members (%s): its members train one after another",
        type(network).__name__,
        reason,
    )
    return SingleProgram(network)


def why_not_mappable(program: VmapProgram, n_features: int) -> str | None:
    """Try a tiny forward and backward pass of two members; None if it works.

    A network that mixes the rows of a batch (batch normalisation, say) is refused too: stacked members have
    padding in their batches.
    """
    program.network.train()
    tensors = stack_tensors([named_tensors(program.network)] * 2)
    learning = [name for name, parameter in program.network.named_parameters() if parameter.requires_grad]
    weights = [tensors[name].requires_grad_() for name in learning]
    device = next((value.device for value in tensors.values()), torch.device("cpu"))
    rows = torch.randn(2, 3, n_features, device=device, requires_grad=True)
    try:
        first = program(tensors, rows)[:, 0].sum()
        influence, *_ = torch.autograd.grad(first, [rows, *weights], allow_unused=True, materialize_grads=True)
    except Exception as error:  # a user's module may fail in any way, and each means "not mappable"
        return str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__
    return "it mixes the rows of a batch" if influence[:, 1:].any() else None


def with_tensors(module: nn.Module, tensors: Tensors) -> nn.Module:
    """Return a copy of a module that has these tensors for its own, as it is when nothing is trained.

    `functional_call` lends a module its tensors for one call; to do so takes longer than a small network itself.
    """
    copied = copy.deepcopy(module)
    for name, value in tensors.items():
        path, _, last = name.rpartition(".")
        part = copied.get_submodule(path)
        if last in part._parameters:
            part.register_parameter(last, nn.Parameter(value, requires_grad=False))
        else:
            part.register_buffer(last, value)
    return copied.eval()


def named_tensors(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers of a module by name, detached."""
    named = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    return {name: value.detach() for name, value in named.items()}


def stack_tensors(members: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Stack tensors of the same name: a list of dicts -> a dict of (members, ...)."""
    return {name: torch.stack([member[name] for member in members]) for name in members[0]}
