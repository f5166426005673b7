"""Between classes: how much nearer a row is to one known class than to the next.

A row far from everything may yet be like one class only; a row right between two classes belongs to neither, however
near it is. Columns are seen as the networks see them, along their principal axes. An axis along which rows differ a
lot counts for more than one along which they hardly do, but not in proportion: its root does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from torch import Tensor

from gditd.nn.descriptor import LARGEST_DISTANCE
from gditd.training.cohort import Seen
from gditd.views.base import LANES, View, in_full_lanes, padded
from gditd.views.clusters import Clusters
from gditd.views.lesson import Lesson, balanced_sample

MOST_ROWS = 12_000  # that prototypes are learned from, about as many of each class
MOST_VALUES = 16_000_000  # of those rows together, so that wide tables do not fill the memory
SMALLEST_SPREAD = 1e-4  # of an axis, as a share of the widest one's variance
NEAREST = 1e-3  # a squared distance; nearer than that rows are not told apart
LOOK_ROWS = 512  # whose likeness to all prototypes is worked out at a time: it stays in the cache


@dataclass(frozen=True, eq=False)
class ColumnRivals(View):
    """The squared distance to the nearest prototype, as a share of that to the nearest one of any other class.

    `axes` (d, r) and `origin` (r,) take rows to the space in which distances count; `prototypes` (k, p, r) lie there.
    """

    unit: ClassVar[float] = 0.01
    of_columns: ClassVar[bool] = True

    most_axes: ClassVar[int] = 64
    prototypes_of_all: ClassVar[tuple[int, int]] = (1_024, 1_024)
    """Of all classes together: as many as columns, but not fewer nor more than these."""
    farthest: ClassVar[float] = math.inf
    """No value counts as further out, on the scale of encoded columns, most of which have a standard deviation of 1."""

    axes: Tensor
    origin: Tensor
    prototypes: Tensor

    @classmethod
    def learn(cls, lesson: Lesson) -> Self:
        """Find the axes, and cluster each class's rows along them."""
        rng = np.random.default_rng(lesson.seed)
        n_rows = min(MOST_ROWS, MOST_VALUES // lesson.rows.shape[1])
        some = balanced_sample(lesson.codes, lesson.n_classes, max(n_rows // lesson.n_classes, 1), rng)
        rows = cls.drawn_in(lesson.cohort.through_lens(lesson.rows[torch.from_numpy(some)]))
        axes, origin = principal_axes(rows.double().numpy(), cls.most_axes, lesson.seed)
        points = (rows @ axes - origin).unsqueeze(0)
        fewest, most = cls.prototypes_of_all
        n_prototypes = min(max(rows.shape[1], fewest), most)
        of_class = Clusters(n_prototypes).of_classes(points, lesson.codes[some], lesson.n_classes, rng)
        most = max(own.shape[1] for own in of_class)
        most = in_full_lanes(most) if most > LANES else most  # the largest of full lanes is found four times as quickly
        return cls(axes, origin, torch.cat([repeated(own, most) for own in of_class]))

    def scores(self, seen: Seen) -> Tensor:
        """One score for all classes."""
        points = self.drawn_in(seen.inputs.cpu()) @ self.axes - self.origin
        distances = points.new_empty(len(points), 2, dtype=torch.float64)
        k, p, _ = self.prototypes.shape
        room = points.new_empty(min(LOOK_ROWS, len(points)), k * p)  # for one chunk after another: new memory is slow
        for some, own in zip(torch.split(points, LOOK_ROWS), torch.split(distances, LOOK_ROWS), strict=True):
            self._find_two_nearest(some, room[: len(some)], own)
        distances.clamp_max_(LARGEST_DISTANCE).add_(NEAREST)
        return distances.amin(1, keepdim=True) / distances.amax(1, keepdim=True)

    def _find_two_nearest(self, points: Tensor, likeness: Tensor, distances: Tensor) -> None:
        """Fill in squared distances (n, 2) of points (n, r); `likeness` is room for a number a prototype."""
        from gditd.views.nearest import two_nearest  # noqa: PLC0415 - takes a moment, and not every command needs it

        k, p, r = self.prototypes.shape
        prototypes = self.prototypes.view(k * p, r)
        # |x - m|^2 = |x|^2 - 2 (x m - |m|^2 / 2): the largest of what is in brackets tells which prototype is nearest.
        # As the difference of large numbers the distance would be inexact, and depend on how rows are grouped.
        torch.addmm(self.halved, points, prototypes.mT, out=likeness)
        two_nearest(likeness.numpy(), k, points.numpy(), prototypes.numpy(), distances.numpy())

    @classmethod
    def drawn_in(cls, inputs: Tensor) -> Tensor:
        """Rows (n, d) whose values lie no further out than they may count."""
        return inputs if math.isinf(cls.farthest) else inputs.clamp(-cls.farthest, cls.farthest)

    @cached_property
    def halved(self) -> Tensor:
        """Minus half of each prototype's squared length, (k * p,)."""
        return self.prototypes.square().sum(-1).view(-1) / -2

    def state(self) -> dict[str, Tensor]:
        """Axes and prototypes."""
        return {"axes": self.axes, "origin": self.origin, "prototypes": self.prototypes}

    @classmethod
    def from_state(cls, tensors: dict[str, Tensor]) -> Self:
        """Undo `state`; ValueError where the tensors do not fit together."""
        view = cls(tensors["axes"], tensors["origin"], tensors["prototypes"])
        view._refuse_unsafe()
        return view

    def _refuse_unsafe(self) -> None:
        """Refuse prototypes that the compiled search, which checks nothing, would look beside."""
        if any(tensor.dtype != torch.float32 for tensor in self.state().values()):
            raise ValueError("the tensors of rivals are not of the right types")
        if self.axes.ndim != 2 or self.prototypes.ndim != 3:
            raise ValueError("the tensors of rivals have the wrong dimensions")
        k, p, r = self.prototypes.shape
        if k < 2 or p < 1 or r % LANES or self.axes.shape[1] != r or self.origin.shape != (r,):
            raise ValueError("the prototypes of rivals do not fit their axes")


class DrawnInRivals(ColumnRivals):
    """The same at a quarter of the cost, for who has little time: fewer axes and prototypes, and no far values.

    What matters is where among the classes a row lies. A few far values would drown that, most of all along few axes.
    """

    most_axes: ClassVar[int] = 32
    prototypes_of_all: ClassVar[tuple[int, int]] = (256, 512)
    farthest: ClassVar[float] = 1.5


def principal_axes(rows: NDArray[np.float64], most: int, seed: int) -> tuple[Tensor, Tensor]:
    """Axes (d, r), each divided by the root of the rows' spread along it, and the rows' mean along them, (r,)."""
    found = PCA(min(most, *rows.shape), random_state=seed).fit(rows)
    variances = np.maximum(np.nan_to_num(found.explained_variance_), np.finfo(np.float32).tiny)  # rows may be all alike
    kept = variances > SMALLEST_SPREAD * variances[0]
    axes = np.ascontiguousarray(found.components_[kept].T / variances[kept] ** 0.25)  # as a model file has them
    rank = in_full_lanes(axes.shape[1])
    origin = torch.from_numpy(found.mean_[None] @ axes).float()
    return padded(torch.from_numpy(axes).float(), rank), padded(origin, rank)[0]


def repeated(prototypes: Tensor, count: int) -> Tensor:
    """Fill up with copies of the first, which change no smallest distance: (1, p, r) -> (1, count, r)."""
    missing = count - prototypes.shape[1]
    return torch.cat([prototypes, prototypes[:, :1].expand(-1, missing, -1)], dim=1)
