"""How unusual each column of a row is for each class, by the class's own rows alone: no network.

A column is surprising by itself, if its value lies many of the class's standard deviations from the class's mean, and
given the other columns, if it is not what they lead to expect; a fee that does not go with its amount is only the
latter. Both are squared standardised deviations: about 1 for an ordinary value, 9 for three standard deviations. A
category that a share p of the class has comes to (1 - p) / p in the same units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gditd.explain.profiles import FEWEST_ROWS, MOST_ROWS, spread
from gditd.tables import TableEncoder

LEAST_VARIANCE = 0.01  # of an encoded feature, most of which have variance 1 over all rows
MOST_ALONE = 10_000.0  # a hundred standard deviations: further away is no more surprising
MOST_GIVEN_OTHERS = 100.0  # an absurd value makes its neighbours look wrong too; it must surprise more than they do
STRANGE = 9.0  # three standard deviations
WIDEST = 512  # features; the relations between more are not kept


@dataclass(frozen=True)
class ColumnMap:
    """Which raw column each encoded feature belongs to.

    `owners` (width,) are column numbers; the "unexpected missing" feature belongs to no column and has number
    len(names). `gap_feature` is its place, None if there is none.
    """

    names: list[str]
    owners: Tensor
    gap_feature: int | None

    @classmethod
    def of(cls, encoder: TableEncoder) -> ColumnMap:
        """Read the encoder's layout."""
        slices = encoder.column_slices
        owners = torch.full((encoder.width,), len(slices))
        for number, own in enumerate(slices.values()):
            owners[own] = number
        shared = (owners == len(slices)).nonzero()
        return cls(list(slices), owners, int(shared[0]) if len(shared) else None)

    def largest(self, features: Tensor) -> Tensor:
        """Each column's largest feature, (..., width) >= 0 -> (..., columns)."""
        found = features.new_zeros(*features.shape[:-1], len(self.names) + 1)
        return found.scatter_reduce_(-1, self.owners.expand_as(features), features, "amax")[..., :-1]

    def total(self, features: Tensor) -> Tensor:
        """Each column's sum of features, (..., width) -> (..., columns)."""
        sums = features.new_zeros(*features.shape[:-1], len(self.names) + 1)
        return sums.index_add_(-1, self.owners, features)[..., :-1]


@dataclass(frozen=True, eq=False)
class ClassShapes:
    """The classes as they lie in the encoded table.

    means, variances (classes, width); a class with too few rows has those of all rows, so that a mean never is
    somebody's row. precision (width, width): the inverse covariance within classes, None for wide tables.
    """

    means: Tensor
    variances: Tensor
    precision: Tensor | None

    @classmethod
    def learn(cls, values: Tensor, codes: npt.NDArray[np.int64], n_classes: int) -> ClassShapes:
        """Learn from encoded rows (n, width) and their classes, at most `MOST_ROWS` rows of each."""
        rows = [spread(np.flatnonzero(codes == c), MOST_ROWS) for c in range(n_classes)]
        seen = values[torch.from_numpy(np.concatenate(rows))]
        described = [values[torch.from_numpy(own)] if len(own) >= FEWEST_ROWS else seen for own in rows]
        means = torch.stack([own.mean(0) for own in described])
        away = seen - means.repeat_interleave(torch.tensor([len(own) for own in rows]), dim=0)
        # As if a few rows more had the spread that all classes have: that of five rows alone is a poor guess.
        within = FEWEST_ROWS * away.square().mean(0)
        variances = [(len(own) * own.var(0, correction=0) + within) / (len(own) + FEWEST_ROWS) for own in described]
        return cls(means, torch.stack(variances) + LEAST_VARIANCE, precision_of(away))

    def plausible(self, rows: Tensor, gaps: Tensor, columns: ColumnMap, most: int) -> tuple[Tensor, Tensor]:
        """The `most` most fitting classes (n, k), and which of them are plausible, (n, k).

        A column counts for no more than a strange one does, so that a few absurd values do not decide. Plausible
        are the classes that fit nearly as well as the best: one strange column less would make them so.
        """
        misfits = []
        for mean, variance in zip(self.means, self.variances, strict=True):
            alone = columns.total((rows - mean).square() / variance).clamp_max(STRANGE)
            misfits.append(alone.masked_fill(gaps, STRANGE).sum(1) + variance.log().sum())
        fit = torch.stack(misfits, dim=1).topk(min(most, len(self.means)), largest=False)
        return fit.indices, fit.values <= fit.values[:, :1] + STRANGE

    def surprise(self, rows: Tensor, gaps: Tensor, columns: ColumnMap, classes: Tensor) -> Tensor:
        """How surprising each column is for classes (n, k): (n, k, columns)."""
        away = rows.unsqueeze(1) - self.means[classes]
        alone = columns.largest(away.square() / self.variances[classes])
        if columns.gap_feature is not None:
            each = rows[:, columns.gap_feature].unsqueeze(1) / gaps.sum(1, keepdim=True).clamp_min(1)
            missing = each.square() / self.variances[classes][..., columns.gap_feature]
            alone = torch.where(gaps.unsqueeze(1), missing.unsqueeze(2).maximum(alone), alone)
        alone = alone.clamp_max(MOST_ALONE)
        if self.precision is None:
            return alone
        given_others = columns.largest((away @ self.precision).square() / self.precision.diagonal())
        return alone + given_others.clamp_max(MOST_GIVEN_OTHERS)

    def state(self) -> dict[str, Tensor]:
        """Everything learned."""
        tensors = {"means": self.means, "variances": self.variances}
        return tensors if self.precision is None else tensors | {"precision": self.precision}

    @classmethod
    def from_state(cls, tensors: dict[str, Tensor], n_classes: int, width: int) -> ClassShapes:
        """Build the shapes that `state` described; what does not fit or is no number is refused."""
        shapes = cls(tensors["means"], tensors["variances"], tensors.get("precision"))
        expected = {"means": (n_classes, width), "variances": (n_classes, width)}
        if width <= WIDEST:
            expected["precision"] = (width, width)
        found = shapes.state()
        fits = {name: tuple(tensor.shape) for name, tensor in found.items()} == expected
        sound = fits and all(tensor.dtype == torch.float32 and tensor.isfinite().all() for tensor in found.values())
        if not sound or bool((shapes.variances <= 0).any()):
            raise ValueError("its class means and variances do not fit its columns and classes")
        return shapes


def precision_of(away: Tensor) -> Tensor | None:
    """The inverse covariance (width, width) of rows given as deviations from their class's mean."""
    n_rows, width = away.shape
    if width > WIDEST:
        return None
    away = away.double()
    covariance = away.T @ away / n_rows + LEAST_VARIANCE * torch.eye(width, dtype=torch.float64)
    precision: Tensor = torch.linalg.inv(covariance).float()
    return precision
