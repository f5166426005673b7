"""The interface of a view: one way to look at a row and say how strange it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Self

from torch import Tensor, nn

from gditd.training.cohort import Seen
from gditd.views.lesson import Lesson


class View(ABC):
    """A scorer on a fitted cohort. Higher = stranger; the scale is the view's own."""

    unit: ClassVar[float]
    """A small difference between two scores."""

    of_columns: ClassVar[bool] = False
    """Whether it looks at columns and at no layer: then any rows may teach it, those unknown to the members too."""

    @classmethod
    @abstractmethod
    def learn(cls, lesson: Lesson) -> Self:
        """Learn what the known rows look like."""

    @abstractmethod
    def scores(self, seen: Seen) -> Tensor:
        """How strange rows are for each class, (n, classes), or for all of them at once, (n, 1)."""

    @abstractmethod
    def state(self) -> dict[str, Tensor]:
        """All that was learned, by name."""

    @classmethod
    @abstractmethod
    def from_state(cls, tensors: dict[str, Tensor]) -> Self:
        """Undo `state`."""


LANES = 16  # columns of a product that processors work out together; what is left over may be rounded differently
MOST_MEMBERS = 3  # whose layers are looked at: more make scoring slower, and the views hardly better


def embedding(layers: list[Tensor]) -> Tensor:
    """The embedding by some members, (members, n, d)."""
    return layers[-1][:MOST_MEMBERS]


def hidden_layer(layers: list[Tensor]) -> Tensor:
    """The layer before the embedding by some members; the embedding itself where a network tells of no other."""
    return (layers[-2] if len(layers) > 1 else layers[-1])[:MOST_MEMBERS]


def of_classes(scores: Tensor, classes: Tensor) -> Tensor:
    """Scores (..., all classes) of some classes, in ascending order; where these are all, nothing is copied."""
    return scores if len(classes) == scores.shape[-1] else scores[..., classes]


def in_full_lanes(width: int) -> int:
    """The next width at which a product's result for a row does not depend on how many rows there are."""
    return -(-width // LANES) * LANES


def padded(matrix: Tensor, n_columns: int) -> Tensor:
    """Add columns of zeros, which change no distance."""
    return nn.functional.pad(matrix, (0, n_columns - matrix.shape[1]))
