"""Keeps a cohort in training, so that it can go on after it was stopped."""

from __future__ import annotations

import torch
from torch import Tensor

from gditd.training.batches import Member
from gditd.training.descent import Descent
from gditd.training.state import Checkpoint, State, identity_of, prefixed, settings_of, under

Trained = tuple[dict[str, Tensor], dict[str, Tensor]]
"""Stacked tensors of networks and of heads."""


class Keeper:
    """Writes a descent to a checkpoint as it goes, together with the members that trained before it."""

    def __init__(self, checkpoint: Checkpoint, descent: Descent, identity: str) -> None:
        self.checkpoint = checkpoint
        self.descent = descent
        self.identity = identity
        self.finished: list[Trained] = []
        descent.on_state = self._offer

    def earlier(self) -> State | None:
        """The state to go on from, the same for all processes that train together."""
        team = self.descent.team
        found: State | None = team.agreed(self.checkpoint.read(self.identity) if team.rank == 0 else None)
        if found is None:
            return None
        document, tensors = found
        for m in range(document["finished"]):
            network, head = (under(f"finished.{m}.{part}", tensors) for part in ("network", "head"))
            self.finished.append((network, head))
        return found

    def _offer(self) -> None:
        if self.descent.team.rank == 0:
            self.checkpoint.offer(self.identity, self._state)

    def _state(self) -> State:
        document, tensors = self.descent.state()
        for m, parts in enumerate(self.finished):
            for name, part in zip(("network", "head"), parts, strict=True):
                tensors |= prefixed(f"finished.{m}.{name}", part)
        return {**document, "finished": len(self.finished)}, tensors


def identity_of_fit(
    descent: Descent, members: list[Member], network: dict[str, Tensor], head: dict[str, Tensor]
) -> str:
    """A digest of the rows, the members with their first parameters, and the settings."""
    table = descent.table
    rows = [torch.as_tensor(member.rows) for member in members]
    columns = [] if table.columns is None else [table.columns]
    settings = (
        descent.settings,
        settings_of(descent.architecture.loss),
        [member.seed for member in members],
        descent.team.size,
        table.x.device.type,
    )
    return identity_of([table.x, table.y, *columns, *rows, *network.values(), *head.values()], settings)
