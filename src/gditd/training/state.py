"""What training is at a moment, as plain values and tensors: to go on from there leads to the same bits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import torch
from torch import Tensor, nn

State = tuple[dict[str, Any], dict[str, Tensor]]
"""Plain values and tensors, by name."""


class Checkpoint(Protocol):
    """Keeps states. `identity` stands for what is trained on what, so that no other training goes on from them."""

    def read(self, identity: str) -> State | None:
        """The state that was kept last, if any."""

    def offer(self, identity: str, state: Callable[[], State]) -> None:
        """Keep the state that the function returns, if it is time to."""


def identity_of(tensors: Iterable[Tensor], settings: object) -> str:
    """A digest of all that decides what training comes to: numbers, settings and versions."""
    digest = hashlib.sha256(f"{torch.__version__} {settings!r}".encode())
    for tensor in tensors:
        digest.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()


def settings_of(loss: object) -> object:
    """What a loss is set to, as far as plain values say."""
    if not isinstance(loss, nn.Module):
        return type(loss).__name__
    return [
        (name, type(module).__name__, [(k, v) for k, v in vars(module).items() if isinstance(v, str | float | int)])
        for name, module in loss.named_modules()
    ]


def random_state(device: torch.device) -> Tensor:
    """The state of torch's own generator, which dropout draws from."""
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def set_random_state(state: Tensor, device: torch.device) -> None:
    """Go on drawing from a state."""
    if device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    else:
        torch.set_rng_state(state)


def prefixed(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under longer names."""
    return {f"{prefix}.{name}": value for name, value in tensors.items()}


def under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names begin with a prefix, without it."""
    return {name.removeprefix(f"{prefix}."): value for name, value in tensors.items() if name.startswith(f"{prefix}.")}
