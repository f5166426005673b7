"""Which rows a member sees, and in which order."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

LARGEST_STOPPING_SET = 5_000
MOST_REPEATED = 2  # times a batch that the rows wanted of all classes may be


@dataclass(frozen=True)
class Member:
    """One network of a cohort: the rows it learns from, its seed, and the columns it sees (None: all)."""

    rows: np.ndarray
    seed: int
    columns: np.ndarray | None = None


@dataclass(frozen=True)
class Batch:
    """Row numbers (batch,), of which the first `n_real` count; the rest is padding that repeats a real row."""

    index: Tensor
    n_real: int


class BatchStream:
    """A member's endless stream of shuffled batches; it depends on the member's own rows and seed alone.

    An epoch visits every row once. Its last batch may be short; it is padded to the full size so that members
    with different numbers of rows can be stacked. A row left over alone gets one of the batch before for company:
    batch normalisation, say, can do nothing with a single row.
    """

    def __init__(self, rows: Tensor, *, batch_size: int, padded_size: int, generator: torch.Generator) -> None:
        self.rows = rows
        self.padded_size = padded_size
        self.generator = generator
        self.bounds = [*range(0, len(rows), batch_size), len(rows)]
        self.steps_per_epoch = len(self.bounds) - 1
        if self.steps_per_epoch > 1 and batch_size > 2 and len(rows) % batch_size == 1:
            self.bounds[-2] -= 1
        self._step = 0
        self._before_epoch = generator.get_state()

    def next(self) -> Batch:
        """Return the next batch, shuffling anew at the start of an epoch."""
        if self._step == 0:
            self._shuffle()
        index = self._batches[self._step]
        self._step = (self._step + 1) % self.steps_per_epoch
        return padded(index, self.padded_size)

    def _shuffle(self) -> None:
        self._before_epoch = self.generator.get_state()
        order = self.rows[torch.randperm(len(self.rows), generator=self.generator)]
        self._batches = torch.tensor_split(order, self.bounds[1:-1])

    def position(self) -> tuple[int, Tensor]:
        """How many batches of the epoch were given out, and the generator's state before it was shuffled."""
        return self._step, self._before_epoch if self._step else self.generator.get_state()

    def go_to(self, step: int, state: Tensor) -> None:
        """Go on from a position as `position` gave it."""
        self.generator.set_state(state)
        self._step = step
        if step:
            self._shuffle()


def padded(index: Tensor, size: int) -> Batch:
    """Fill up row numbers to a size by repeating the first one."""
    missing = size - len(index)
    filled = index if missing == 0 else torch.cat([index, index[:1].expand(missing)])
    return Batch(filled, len(index))


def stack_batches(batches: list[Batch]) -> tuple[Tensor, Tensor | None]:
    """Row numbers (members, batch) and a 0/1 mask of the same shape, or None if no row is padding."""
    index = torch.stack([batch.index for batch in batches])
    size = index.shape[1]
    if all(batch.n_real == size for batch in batches):
        return index, None
    n_real = torch.tensor([batch.n_real for batch in batches])
    return index, (torch.arange(size) < n_real.unsqueeze(1)).to(torch.get_default_dtype())


def split_for_stopping(
    rows: Tensor, y: Tensor, *, fraction: float, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Set a share of each class's rows aside for early stopping: (training rows, stopping rows).

    A class gives rows away only while at least four of five stay for training, so rare classes of fewer than
    five rows keep them all; beyond LARGEST_STOPPING_SET rows more would only cost time.
    """
    fraction = min(fraction, LARGEST_STOPPING_SET / max(len(rows), 1))
    shuffled = rows[torch.randperm(len(rows), generator=generator)]
    labels = y[shuffled]
    aside = torch.zeros(len(rows), dtype=torch.bool)
    for label in torch.unique(labels):
        own = torch.nonzero(labels == label).squeeze(1)
        n_aside = min(round(fraction * len(own)), len(own) // 5)
        aside[own[:n_aside]] = True
    return shuffled[~aside], shuffled[aside]


def repeat_rare(rows: Tensor, y: Tensor, *, batch_size: int, per_batch: int) -> Tensor:
    """Repeat the rows of rare classes, each equally often, until batches hold about `per_batch` of every class.

    With very many classes no batch can: less is wanted then, so that an epoch grows to about three times its length at
    most.
    """
    labels = y[rows]
    different = torch.unique(labels)
    in_a_batch = min(per_batch, MOST_REPEATED * batch_size / max(len(different), 1))
    wanted = math.ceil(in_a_batch * -(-len(rows) // batch_size))
    repeated = [rows]
    for label in different:
        own = rows[labels == label]
        repeated.append(own.repeat(-(-wanted // len(own)) - 1 if len(own) < wanted else 0))
    return torch.cat(repeated)
