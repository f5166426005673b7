"""A cohort: many members of one architecture, trained and run together.

It is the one mechanism behind ensembles, cross-validation folds, cross-conformal calibration and leaving classes
out: each of these is a list of members with their own rows, seeds and columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gditd.training.batches import Member
from gditd.training.descent import (
    Descent,
    DescentSettings,
    EpochRecord,
    ProgressCallback,
    TrainingTable,
    select_columns,
)
from gditd.training.keeper import Keeper, Trained, identity_of_fit
from gditd.training.objectives import Loss
from gditd.training.programs import choose_program, named_tensors, stack_tensors, with_tensors
from gditd.training.runtime import keep_freed_memory, one_thread
from gditd.training.stack import Architecture
from gditd.training.state import Checkpoint
from gditd.training.team import current_team, own_device

# Fewer rows are padded: a product with a single row rounds differently from one with many, and a row's score should
# not depend on the company it comes in.
SMALLEST_CHUNK = 16

# Rows looked at together: enough to make calling the networks cheap, and few enough that what all layers make of them
# stays in the cache until the views have seen it.
LOOK_ROWS = 4096

LENS_ROWS = 65_536

Backbone = Callable[[int], nn.Module]
Head = Callable[[int], nn.Module]


@dataclass(frozen=True, eq=False)
class Seen:
    """A chunk of rows (n, features), and what a cohort makes of it: worked out if somebody asks."""

    rows: Tensor
    cohort: Cohort

    @cached_property
    def inputs(self) -> Tensor:
        """The rows as the members are shown them."""
        return self.cohort.through_lens(self.rows)

    @cached_property
    def layers(self) -> list[Tensor]:
        """Each layer's output, (members, n, d)."""
        return self.cohort.layers_of(self.inputs)

    @property
    def embedding(self) -> Tensor:
        """The last layer's output, (members, n, d)."""
        return self.layers[-1]

    @cached_property
    def description(self) -> Any:
        """The head's output for the embedding."""
        return self.cohort.describe(self.embedding)


@dataclass
class Cohort:
    """Trained members: their architecture and their tensors stacked to (members, ...)."""

    architecture: Architecture
    network: dict[str, Tensor]
    head: dict[str, Tensor]
    columns: Tensor | None = None
    history: list[EpochRecord] = field(default_factory=list)
    lens: nn.Module | None = None
    """What rows go through before they come to the members, the same for all."""

    @property
    def n_members(self) -> int:
        """The number of members."""
        return len(next(iter(self.head.values())))

    @property
    def device(self) -> torch.device:
        """Where the tensors live."""
        return next(iter(self.head.values())).device

    def apply(self, x: Tensor, summarise: Callable[[Tensor, Any], Tensor]) -> Tensor:
        """Run all members over rows (n, features), a chunk at a time, and join what `summarise` makes of each.

        `summarise` gets embeddings (members, chunk, d) and the head's output for them, and returns a tensor whose
        first dimension is the chunk's rows.
        """
        return self.look(x, lambda seen: summarise(seen.embedding, seen.description))

    def look(self, x: Tensor, summarise: Callable[[Seen], Tensor]) -> Tensor:
        """Do as `apply` does; `summarise` gets a chunk, and all that members see of it if it asks."""
        keep_freed_memory()
        self.architecture.train(False)
        with one_thread(), torch.no_grad():
            chunks = [self._summary(chunk, summarise) for chunk in torch.split(x, LOOK_ROWS)]
        return torch.cat(chunks)

    def _summary(self, x: Tensor, summarise: Callable[[Seen], Tensor]) -> Tensor:
        n_rows = len(x)
        if n_rows < SMALLEST_CHUNK:
            x = torch.cat([x, x.new_zeros(SMALLEST_CHUNK - n_rows, x.shape[1])])
        return summarise(Seen(x, self)).cpu()[:n_rows]

    def part(self, first: int, end: int) -> Cohort:
        """Return members first .. end - 1 as a cohort of their own."""
        history = [
            EpochRecord(r.member - first, r.epoch, r.training_loss, r.stopping_loss)
            for r in self.history
            if first <= r.member < end
        ]
        return Cohort(
            self.architecture,
            {name: value[first:end].clone() for name, value in self.network.items()},
            {name: value[first:end].clone() for name, value in self.head.items()},
            None if self.columns is None else self.columns[first:end],
            history,
            self.lens,
        )

    def embed(self, x: Tensor) -> Tensor:
        """Embed a batch of rows (n, features) with every member: (members, n, d)."""
        return self.layers(x)[-1]

    def layers(self, x: Tensor) -> list[Tensor]:
        """Run a batch of rows (n, features) through every member: the output (members, n, d) of each layer."""
        return self.layers_of(self.through_lens(x))

    def layers_of(self, seen: Tensor) -> list[Tensor]:
        """Do as `layers` does for rows that went through the lens already."""
        inputs = seen.to(self.device).unsqueeze(0).expand(self.n_members, -1, -1)
        if self.columns is not None:
            inputs = select_columns(inputs, self.columns)
        program = self.architecture.program
        if not program.one_by_one:
            return self._bound_layers(inputs)
        members = [
            program.layers({name: value[m : m + 1] for name, value in self.network.items()}, inputs[m : m + 1])
            for m in range(self.n_members)
        ]
        return [torch.cat(outputs) for outputs in zip(*members, strict=True)]

    def through_lens(self, x: Tensor) -> Tensor:
        """Rows (n, features) as the members are shown them."""
        return x if self.lens is None else self.lens(x)

    def describe(self, embedding: Tensor) -> object:
        """Return the head's output for embeddings (members, n, d), computed in float64.

        It is a small part of the work, and distances to centres are differences of larger numbers: in float32 they
        would depend visibly on how rows are grouped into batches.
        """
        output: object = self._bound_head(embedding.double())
        return output

    @cached_property
    def _bound_layers(self) -> Callable[[Tensor], list[Tensor]]:
        """The network of all members, ready to be called."""
        return self.architecture.program.bound(self.network)

    @cached_property
    def _bound_head(self) -> nn.Module:
        """The head of all members in float64, ready to be called."""
        return with_tensors(self.architecture.head, {name: value.double() for name, value in self.head.items()})

    @classmethod
    def fit(
        cls,
        x: Tensor,
        y: Tensor,
        members: Sequence[Member],
        *,
        backbone: Backbone,
        head: Head,
        loss: Loss,
        n_classes: int,
        settings: DescentSettings | None = None,
        callback: ProgressCallback | None = None,
        device: torch.device | str = "cpu",
        checkpoint: Checkpoint | None = None,
        lens: nn.Module | None = None,
    ) -> Cohort:
        """Train members on rows x (n, features) with labels y (n,) in 0 .. n_classes - 1.

        `backbone` makes a network for a number of features, `head` a head for an embedding width. Labels of rows
        that a member does not own may be anything in range: it never sees them. Processes that were started together
        train together: see `gditd.training.team`. With a checkpoint, training goes on from where it was stopped.
        """
        keep_freed_memory()
        members = list(members)
        if not members or not all(len(member.rows) for member in members):
            raise ValueError("a cohort needs at least one member, and every member at least one row")
        device = own_device(torch.device(device))
        team = current_team()
        team.refuse_differences(fingerprint(x, y, members) if team.size > 1 else [])
        # Some rows at a time: a lens needs memory of its own.
        seen = x if lens is None else torch.cat([lens(part) for part in torch.split(x, LENS_ROWS)])
        table = TrainingTable(seen.to(device), y.to(device), n_classes, stacked_columns(members, x.shape[1], device))
        with one_thread(), own_randomness():
            n_inputs = x.shape[1] if table.columns is None else table.columns.shape[1]
            architecture, network, head_tensors = build(
                members, n_inputs, backbone=backbone, head=head, loss=loss, device=device
            )
            descent = Descent(architecture, table, settings or DescentSettings(), callback, team=team)
            keeper = None
            if checkpoint is not None:
                keeper = Keeper(checkpoint, descent, identity_of_fit(descent, members, network, head_tensors))
            network, head_tensors = train(descent, members, network, head_tensors, keeper)
        architecture.train(False)
        return cls(architecture, network, head_tensors, table.columns, descent.history, lens)

    @classmethod
    def restore(
        cls,
        network: dict[str, Tensor],
        head: dict[str, Tensor],
        *,
        n_features: int,
        backbone: Backbone,
        head_factory: Head,
        loss: Loss,
        lens: nn.Module | None = None,
    ) -> Cohort:
        """Put stacked tensors back into the architecture they came from; ValueError where they do not fit."""
        for tensors, template in zip((network, head), outlines(n_features, backbone, head_factory), strict=False):
            refuse_misfits(tensors, template)
        with own_randomness():
            architecture, *templates = build(
                [Member(np.arange(0), 0)], n_features, backbone=backbone, head=head_factory, loss=loss, device="cpu"
            )
        for tensors, template in zip((network, head), templates, strict=True):
            refuse_misfits(tensors, template)
        if len({len(value) for value in [*network.values(), *head.values()]}) != 1:
            raise ValueError("the tensors are not all of the same number of members")
        architecture.train(False)
        return cls(architecture, network, head, lens=lens)


def fingerprint(x: Tensor, y: Tensor, members: Sequence[Member]) -> list[float]:
    """Numbers that are the same where rows, labels and members are."""
    weights = torch.arange(1, len(x) + 1, dtype=torch.float64)
    rows = x.sum(1, dtype=torch.float64).nan_to_num()
    of_members = [float(value) for member in members for value in (member.seed, len(member.rows), member.rows.sum())]
    return [*x.shape, float(weights @ rows), float(weights @ y.double()), *of_members]


@contextmanager
def own_randomness() -> Iterator[None]:
    """Seed torch at will inside; the user's random state is as before afterwards."""
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]
    with torch.random.fork_rng(devices=devices):
        yield


def outlines(n_inputs: int, backbone: Backbone, head: Head) -> list[dict[str, Tensor]]:
    """The tensors of a network and of a head without memory for them: what is too large to make is found out first.

    Nothing for a network of one's own that cannot be made like that.
    """
    try:
        with own_randomness(), torch.device("meta"):
            network = backbone(n_inputs)
            head_module = head(embedding_width(network, n_inputs, "meta"))
            return [stack_tensors([named_tensors(module)]) for module in (network, head_module)]
    except Exception:  # whatever may be in it; made for real, it will say so itself
        return []


def refuse_misfits(tensors: dict[str, Tensor], template: dict[str, Tensor]) -> None:
    """Check that stacked tensors have the names, types and member shapes of a template."""
    if set(tensors) != set(template):
        odd = sorted(set(tensors) ^ set(template))
        raise ValueError(f"the tensors do not fit the network: {odd[0]!r} is missing or unknown")
    for name, value in tensors.items():
        fits = value.ndim == template[name].ndim and value.shape[1:] == template[name].shape[1:] and len(value) > 0
        if not fits or value.dtype != template[name].dtype:
            raise ValueError(
                f"tensor {name!r} does not fit the network: {value.dtype} {tuple(value.shape)} against "
                f"{template[name].dtype} {tuple(template[name].shape)} for one member"
            )


def train(
    descent: Descent,
    members: list[Member],
    network: dict[str, Tensor],
    head: dict[str, Tensor],
    keeper: Keeper | None = None,
) -> Trained:
    """Train the members as one stack, or each as a stack of its own where the network asks for it."""
    earlier = None if keeper is None else keeper.earlier()
    if not descent.architecture.program.one_by_one:
        torch.manual_seed(members[0].seed)
        return descent.run(members, network, head, earlier)
    columns = descent.table.columns
    trained = [] if keeper is None else keeper.finished
    for m, member in list(enumerate(members))[len(trained) :]:
        descent.table.columns = None if columns is None else columns[m : m + 1]
        descent.first_member = m
        torch.manual_seed(member.seed)
        own_network, own_head = ({name: value[m : m + 1] for name, value in part.items()} for part in (network, head))
        trained.append(descent.run([member], own_network, own_head, earlier))
        earlier = None
    descent.table.columns = columns
    networks, heads = zip(*trained, strict=True)
    return join(networks), join(heads)


def join(parts: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Concatenate stacked tensors of the same name along the member dimension."""
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


def build(
    members: list[Member],
    n_inputs: int,
    *,
    backbone: Backbone,
    head: Head,
    loss: Loss,
    device: torch.device | str,
) -> tuple[Architecture, dict[str, Tensor], dict[str, Tensor]]:
    """Make the architecture and every member's own first parameters, drawn from its seed."""
    networks, heads = [], []
    for member in members:
        torch.manual_seed(member.seed)
        network = made_by(backbone, n_inputs).to(device)
        head_module = head(embedding_width(network, n_inputs, device)).to(device)
        networks.append(named_tensors(network))
        heads.append(named_tensors(head_module))
    architecture = Architecture(choose_program(network, n_inputs), network, head_module, loss)
    return architecture, stack_tensors(networks), stack_tensors(heads)


def made_by(backbone: Backbone, n_inputs: int) -> nn.Module:
    """Make a network."""
    network: object = backbone(n_inputs)
    if not isinstance(network, nn.Module):
        raise TypeError(f"backbone must return a torch.nn.Module for {n_inputs} features, got {network!r}")
    return network


def embedding_width(network: nn.Module, n_inputs: int, device: torch.device | str) -> int:
    """Find a network's embedding width by asking it for two rows."""
    network.eval()
    with torch.no_grad():
        out = network(torch.zeros(2, n_inputs, device=device))
    if not isinstance(out, Tensor) or out.ndim != 2 or len(out) != 2:
        found = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
        raise ValueError(f"a backbone must map (batch, {n_inputs}) to (batch, width); for 2 rows it gave {found}")
    return out.shape[1]


def stacked_columns(members: list[Member], n_features: int, device: torch.device | str) -> Tensor | None:
    """Column numbers (members, f), or None if every member sees all columns."""
    if all(member.columns is None for member in members):
        return None
    everything = np.arange(n_features)
    columns = [everything if member.columns is None else member.columns for member in members]
    if len({len(own) for own in columns}) > 1:
        raise ValueError("members of one cohort must see the same number of columns; train the others apart")
    return torch.as_tensor(np.stack(columns), dtype=torch.int64, device=device)
