"""The paper's own score as a view, and how much members disagree about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor

from gditd.training.cohort import Seen
from gditd.views.base import View, of_classes
from gditd.views.lesson import Lesson


@dataclass(frozen=True, eq=False)
class Zeta(View):
    """Minus zeta, averaged over members."""

    unit: ClassVar[float] = 0.5

    classes: Tensor

    @classmethod
    def learn(cls, lesson: Lesson) -> Self:
        """There is nothing to learn: the head has it."""
        return cls(torch.from_numpy(lesson.classes))

    def scores(self, seen: Seen) -> Tensor:
        """One score a class."""
        mean: Tensor = of_classes(seen.description.zeta, self.classes).mean(0)
        return -mean

    def state(self) -> dict[str, Tensor]:
        """The classes looked at."""
        return {"classes": self.classes}

    @classmethod
    def from_state(cls, tensors: dict[str, Tensor]) -> Self:
        """Undo `state`."""
        return cls(tensors["classes"])


class Disagreement(Zeta):
    """How much more uncertain the members are together than each by itself: their mutual information."""

    unit: ClassVar[float] = 0.05

    def scores(self, seen: Seen) -> Tensor:
        """One score for all classes."""
        shares = of_classes(seen.description.zeta, self.classes).softmax(-1)
        return entropy(shares.mean(0)) - entropy(shares).mean(0)


def entropy(shares: Tensor) -> Tensor:
    """Entropy of shares (..., n, k) in nats, (..., n, 1)."""
    return -torch.xlogy(shares, shares).sum(-1, keepdim=True)
