"""Processes that train one cohort together: each takes its share of every batch, and they add up their gradients.

The network runs on a share of the rows in each process. The embeddings, which are small, are then gathered, so that
every process computes the loss and the head's gradients of the whole batch: the loss looks at the batch as a whole
(its size, how many rows of each class it has), and no sum of losses of parts would be the same. What a process's own
rows say about the network is added up over all processes. So any number of processes takes the steps that one would,
up to rounding.

Processes are started by torchrun, Spark's TorchDistributor or anything that sets the same variables, and all must be
given the same table and the same random_state.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

FEWEST_ROWS = 2  # of a batch for each process: batch normalisation, say, can do nothing with one

_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_together = True


@contextmanager
def alone() -> Iterator[None]:
    """Train without the other processes inside, where each of them has a table of its own."""
    global _together  # noqa: PLW0603 - what other processes do is a matter of the whole process
    before, _together = _together, False
    try:
        yield
    finally:
        _together = before


def leads() -> bool:
    """Whether this process is the one to write files and to talk: the only one, or the first."""
    return place() == 0


def place() -> int:
    """The number of this process, from 0."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank()
    return int(os.environ["RANK"]) if _started_together() else 0


def own_device(device: torch.device) -> torch.device:
    """The device to train on: of several GPUs, the one of this process's number on its machine."""
    if device != torch.device("cuda") or not _started_together():
        return device
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % max(torch.cuda.device_count(), 1))


def current_team() -> Team:
    """The processes that this one trains with: those it was started with, if any."""
    if not _together or not dist.is_available():
        return Team()
    if not dist.is_initialized():
        if not _started_together():
            return Team()
        # A backend for each kind of tensor: which device will train is not known here.
        dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
        atexit.register(_leave)
    return Team(dist.get_rank(), dist.get_world_size())


def _started_together() -> bool:
    return all(os.environ.get(name) for name in _VARIABLES) and int(os.environ["WORLD_SIZE"]) > 1


def _leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


@dataclass(frozen=True)
class Team:
    """Process number `rank` of `size`."""

    rank: int = 0
    size: int = 1

    def divide(self, n_rows: int) -> Share:
        """Say which rows of a batch are this process's; all of them where there are too few to share."""
        if self.size == 1 or n_rows < FEWEST_ROWS * self.size:
            return Share(n_rows, [0, n_rows])
        return Share(n_rows, [n_rows * rank // self.size for rank in range(self.size + 1)], self.rank)

    def agree(self, tensors: Sequence[Tensor]) -> None:
        """Give every process the first one's numbers: on different processors they drift apart by rounding."""
        if self.size > 1:
            for tensor in tensors:
                dist.broadcast(tensor.data, 0)

    def agreed(self, value: Any) -> Any:
        """The first process's plain value, for decisions that all must take alike."""
        if self.size == 1:
            return value
        values = [value]
        dist.broadcast_object_list(values, 0)
        return values[0]

    def refuse_differences(self, given: Sequence[float]) -> None:
        """Refuse to train where processes were given different rows, classes or seeds."""
        if self.size == 1:
            return
        everyone: list[Any] = [None] * self.size
        dist.all_gather_object(everyone, list(given))
        other = next((rank for rank, own in enumerate(everyone) if own != everyone[0]), None)
        if other is not None:
            raise ValueError(
                f"process {other} of {self.size} has other rows or another random_state than process 0: give all of "
                "them the same table and the same whole number as random_state, or train each by itself inside "
                "gditd.training.alone()"
            )


@dataclass(frozen=True)
class Share:
    """One process's rows of a batch: those between two of the `bounds`."""

    n_rows: int
    bounds: Sequence[int]
    rank: int = 0

    @property
    def whole(self) -> bool:
        """Whether the batch is not divided."""
        return len(self.bounds) == 2

    @property
    def own(self) -> slice:
        """The rows of this process."""
        return slice(self.bounds[self.rank], self.bounds[self.rank + 1])

    def gathered(self, embedding: Tensor) -> Tensor:
        """The embeddings (members, own rows, d) of all processes together, (members, rows, d)."""
        if self.whole:
            return embedding
        sizes = [end - start for start, end in zip(self.bounds, self.bounds[1:], strict=False)]
        padded = embedding.new_zeros(len(embedding), max(sizes), embedding.shape[2])
        padded[:, : embedding.shape[1]] = embedding
        everyone = [torch.empty_like(padded) for _ in sizes]
        dist.all_gather(everyone, padded)
        return torch.cat([part[:, :size] for part, size in zip(everyone, sizes, strict=True)], dim=1)

    def summed(self, gradients: dict[str, Tensor]) -> dict[str, Tensor]:
        """The gradients of all processes added up, in one exchange."""
        if self.whole or not gradients:
            return gradients
        joined = torch.cat([gradient.reshape(-1) for gradient in gradients.values()])
        dist.all_reduce(joined)
        parts = torch.split(joined, [gradient.numel() for gradient in gradients.values()])
        shapes = [gradient.shape for gradient in gradients.values()]
        return {name: part.view(shape) for name, part, shape in zip(gradients, parts, shapes, strict=True)}
