"""Training a stack of members to the end: batches, early stopping, progress."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import torch
from torch import Tensor

from gditd.training.batches import (
    BatchStream,
    Member,
    padded,
    repeat_rare,
    split_for_stopping,
    stack_batches,
)
from gditd.training.stack import Architecture, Stack
from gditd.training.state import State, prefixed, random_state, set_random_state, under
from gditd.training.team import Team

# Embeddings are computed this many rows at a time: larger chunks fall out of the processor's cache.
CHUNK_ROWS = 1024


@dataclass(frozen=True, kw_only=True)
class DescentSettings:
    """How to descend; the defaults are the paper's."""

    max_epochs: int = 100
    batch_size: int = 200
    learning_rate: float = 1e-3
    block_descent: bool = True
    """Alternate between head and network as the paper does; False: one optimiser step on both at once."""
    validation_fraction: float = 0.0
    """Share of the training rows set aside for early stopping; 0: no early stopping."""
    patience: int = 10
    """Epochs without a better loss on those rows after which a member stops."""
    rare_per_batch: int = 0
    """Repeat the rows of rare classes within an epoch until a batch holds about this many of each class."""

    def __post_init__(self) -> None:
        """Refuse settings that cannot work, by name."""
        for name, least in (("max_epochs", 1), ("batch_size", 1), ("patience", 1), ("rare_per_batch", 0)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
        if not is_number(self.learning_rate) or not 0 < self.learning_rate < float("inf"):
            raise ValueError(f"learning_rate must be a finite number above 0, got {self.learning_rate!r}")
        if not is_number(self.validation_fraction) or not 0 <= self.validation_fraction < 1:
            raise ValueError(f"validation_fraction must be a number in [0, 1), got {self.validation_fraction!r}")


def is_number(value: object) -> bool:
    """True for numbers of Python and of numpy."""
    return isinstance(value, Real)


@dataclass(frozen=True)
class Progress:
    """How far training is, reported each time the slowest member ends an epoch.

    Members that cannot be stacked train one after another, and each of them counts from 1.
    """

    epoch: int
    max_epochs: int
    members_training: int
    training_loss: float


@dataclass(frozen=True)
class EpochRecord:
    """One point of a member's training curve; `stopping_loss` is None without early stopping."""

    member: int
    epoch: int
    training_loss: float
    stopping_loss: float | None


class TrainingDiverged(ArithmeticError, ValueError):
    """The loss of a member is no longer a finite number: with this table and these settings nothing is learned."""


ProgressCallback = Callable[[Progress], None]


@dataclass
class Course:
    """Where one member stands."""

    number: int
    stream: BatchStream
    stopping_rows: Tensor
    present: Tensor
    epoch: int = 0
    best_loss: float = float("inf")
    epochs_waited: int = 0

    def __post_init__(self) -> None:
        """Look once whether any class is missing."""
        self.knows_all = bool(self.present.all())


@dataclass
class TrainingTable:
    """Encoded rows (n, features), labels (n,), and the columns each member sees (members, f) or None."""

    x: Tensor
    y: Tensor
    n_classes: int
    columns: Tensor | None = None

    def inputs(self, index: Tensor, members: list[int]) -> Tensor:
        """Rows (members, batch) -> inputs (members, batch, features)."""
        x = self.x.index_select(0, index.flatten()).view(*index.shape, self.x.shape[1])
        return x if self.columns is None else select_columns(x, self.columns[members])


def select_columns(x: Tensor, columns: Tensor) -> Tensor:
    """Give each member its own columns: (members, batch, all) and (members, f) -> (members, batch, f)."""
    return x.gather(-1, columns.unsqueeze(1).expand(-1, x.shape[1], -1))


@dataclass
class Descent:
    """Train the members of one stack; members leave it when they are done."""

    architecture: Architecture
    table: TrainingTable
    settings: DescentSettings
    callback: ProgressCallback | None = None
    history: list[EpochRecord] = field(default_factory=list)
    team: Team = field(default_factory=Team)
    on_state: Callable[[], object] | None = None
    """Called whenever `state` says all that is needed to go on: each time a member has ended an epoch."""
    first_member: int = 0
    """The number of the first member of the stack, where members train one after another."""

    def run(
        self,
        members: list[Member],
        network: dict[str, Tensor],
        head: dict[str, Tensor],
        earlier: State | None = None,
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Descend from the given stacked tensors and return the trained ones, in the members' order.

        `earlier` is a state of the same descent, to go on from.
        """
        self.trained = [{n: t.clone() for n, t in network.items()}, {n: t.clone() for n, t in head.items()}]
        self.courses = self._plan(members)
        self.stack = Stack(
            self.architecture,
            network,
            head,
            learning_rate=self.settings.learning_rate,
            block_descent=self.settings.block_descent,
        )
        self.losses = torch.zeros(len(members), device=self.table.x.device)
        self.reported = 0
        self.steps = 0
        if earlier is not None:
            self._go_on(*earlier)
        self.architecture.train(True)
        while self.courses:
            self._step()
            self.steps += 1
            due = [i for i, course in enumerate(self.courses) if self.steps % course.stream.steps_per_epoch == 0]
            if due:
                self._end_epoch(due)
                if self.on_state is not None:
                    self.on_state()
        network, head = self.trained
        return network, head

    def state(self) -> State:
        """All that the rest of the descent depends on, besides what it was begun with."""
        positions = [course.stream.position() for course in self.courses]
        document = {
            "steps": self.steps,
            "reported": self.reported,
            "courses": [
                {"number": c.number, "step": step, "epoch": c.epoch, "best": c.best_loss, "waited": c.epochs_waited}
                for c, (step, _) in zip(self.courses, positions, strict=True)
            ],
            "history": [[r.member, r.epoch, r.training_loss, r.stopping_loss] for r in self.history],
        }
        network, head = self.trained
        tensors = {
            **prefixed("stack", self.stack.state() if self.courses else {}),
            **prefixed("trained.network", network),
            **prefixed("trained.head", head),
            **{f"shuffling.{i}": generator for i, (_, generator) in enumerate(positions)},
            "losses": self.losses,
            "random": random_state(self.table.x.device),
        }
        return document, {name: value.detach() for name, value in tensors.items()}

    def _go_on(self, document: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        device = self.table.x.device
        everyone = self.courses
        self.courses = []
        for i, told in enumerate(document["courses"]):
            course = everyone[told["number"]]
            course.epoch, course.best_loss, course.epochs_waited = told["epoch"], told["best"], told["waited"]
            course.stream.go_to(told["step"], tensors[f"shuffling.{i}"])
            self.courses.append(course)
        if self.courses:
            self.stack.restore(under("stack", tensors))
        for trained, part in zip(self.trained, ("network", "head"), strict=True):
            trained.update({n: value.to(device) for n, value in under(f"trained.{part}", tensors).items()})
        self.steps, self.reported = document["steps"], document["reported"]
        self.history[:] = [EpochRecord(*record) for record in document["history"]]
        self.losses = tensors["losses"].to(device)
        set_random_state(tensors["random"], device)

    def _plan(self, members: list[Member]) -> list[Course]:
        courses = [self._course(number, member) for number, member in enumerate(members)]
        padded_size = min(self.settings.batch_size, max(len(course.stream.rows) for course in courses))
        for course in courses:
            course.stream.padded_size = padded_size
        return courses

    def _course(self, number: int, member: Member) -> Course:
        generator = torch.Generator().manual_seed(member.seed)
        rows = torch.as_tensor(member.rows, dtype=torch.int64)
        y = self.table.y.cpu()
        training, stopping = split_for_stopping(
            rows, y, fraction=self.settings.validation_fraction, generator=generator
        )
        present = torch.zeros(self.table.n_classes, dtype=torch.bool)
        present[y[training]] = True
        batch_size = self.settings.batch_size
        training = repeat_rare(training, y, batch_size=batch_size, per_batch=self.settings.rare_per_batch)
        stream = BatchStream(training, batch_size=batch_size, padded_size=batch_size, generator=generator)
        return Course(number, stream, stopping, present)

    def _step(self) -> None:
        index, rows = stack_batches([course.stream.next() for course in self.courses])
        if self.architecture.program.one_by_one and rows is not None:
            # A network that looks across the batch (batch normalisation, say) must not see padding.
            index, rows = index[:, : int(rows.sum())], None
        share = self.team.divide(index.shape[1])
        self.losses += self.stack.step(*self._batch(self.courses, index, rows, share.own), share)

    def _present(self, courses: list[Course]) -> Tensor | None:
        """Which classes each member knows, or None if all know all."""
        if all(course.knows_all for course in courses):
            return None
        return torch.stack([course.present for course in courses]).to(self.table.x.device)

    def _batch(
        self, courses: list[Course], index: Tensor, rows: Tensor | None, own: slice = slice(None)
    ) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        """Inputs of a process's own rows; labels and masks of all."""
        device = self.table.x.device
        index = index.to(device)
        return (
            self.table.inputs(index[:, own], [course.number for course in courses]),
            self.table.y[index],
            None if rows is None else rows.to(device),
            self._present(courses),
        )

    def _end_epoch(self, due: list[int]) -> None:
        courses = [self.courses[i] for i in due]
        self.team.agree([self.losses, *self.stack.network.tensors.values(), *self.stack.head.tensors.values()])
        training = self.losses[due].tolist()
        self.losses[due] = 0
        stopping = self.team.agreed(self._stopping_losses(due))
        done = []
        for position, course, total, stopping_loss in zip(due, courses, training, stopping, strict=True):
            course.epoch += 1
            mean = total / course.stream.steps_per_epoch
            self._refuse_divergence(course, mean, stopping_loss)
            self.history.append(EpochRecord(self.first_member + course.number, course.epoch, mean, stopping_loss))
            if self._is_best(course, stopping_loss):
                self._store(position, course)
            if course.epoch == self.settings.max_epochs or course.epochs_waited >= self.settings.patience:
                done.append(position)
        self._report(sum(training) / sum(course.stream.steps_per_epoch for course in courses))
        self._retire(done)

    def _refuse_divergence(self, course: Course, loss: float, stopping_loss: float | None) -> None:
        if not math.isfinite(loss + (stopping_loss or 0.0)):
            raise TrainingDiverged(
                f"training diverged: the loss of member {self.first_member + course.number} is "
                f"{loss if not math.isfinite(loss) else stopping_loss} in epoch {course.epoch}; "
                f"try a smaller learning_rate (now {self.settings.learning_rate:g}) or look for extreme values in "
                "the table"
            )

    def _is_best(self, course: Course, stopping_loss: float | None) -> bool:
        if stopping_loss is None:  # no early stopping: the last epoch counts
            return course.epoch == self.settings.max_epochs
        if stopping_loss < course.best_loss:
            course.best_loss, course.epochs_waited = stopping_loss, 0
            return True
        course.epochs_waited += 1
        return False

    def _store(self, position: int, course: Course) -> None:
        for trained, block in zip(self.trained, (self.stack.network, self.stack.head), strict=True):
            for name, value in block.tensors.items():
                trained[name][course.number] = value[position].detach()

    def _retire(self, done: list[int]) -> None:
        if not done:
            return
        remaining = [i for i in range(len(self.courses)) if i not in done]
        self.courses = [self.courses[i] for i in remaining]
        if remaining:
            positions = torch.tensor(remaining, device=self.table.x.device)
            self.stack.keep(positions)
            self.losses = self.losses[positions]

    def _report(self, training_loss: float) -> None:
        epoch = min(course.epoch for course in self.courses)
        if self.callback is not None and epoch > self.reported:
            self.callback(Progress(epoch, self.settings.max_epochs, len(self.courses), training_loss))
        self.reported = epoch

    @torch.no_grad()
    def _stopping_losses(self, due: list[int]) -> list[float | None]:
        """Loss on the rows set aside, for the members at these positions that have any."""
        positions = [i for i in due if len(self.courses[i].stopping_rows)]
        losses: dict[int, float] = {}
        if positions:
            self.architecture.train(False)
            losses = dict(zip(positions, self._losses_at(positions), strict=True))
            self.architecture.train(True)
        return [losses.get(i) for i in due]

    def _losses_at(self, positions: list[int]) -> list[float]:
        courses = [self.courses[i] for i in positions]
        size = max(len(course.stopping_rows) for course in courses)
        index, rows = stack_batches([padded(course.stopping_rows, size) for course in courses])
        x, y, rows, present = self._batch(courses, index, rows)
        where = torch.tensor(positions, device=x.device)
        network = {name: value[where] for name, value in self.stack.network.tensors.items()}
        head = {name: value[where] for name, value in self.stack.head.tensors.items()}
        embedding = torch.cat(
            [self.architecture.program(network, chunk) for chunk in torch.split(x, CHUNK_ROWS, dim=1)], dim=1
        )
        output = torch.func.functional_call(self.architecture.head, head, (embedding,))
        losses: list[float] = self.architecture.loss(output, y, rows=rows, present=present).tolist()
        return losses
