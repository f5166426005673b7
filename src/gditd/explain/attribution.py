"""Which columns push a row out of the known classes, and of which class.

To put a column right is to give it the class's mean value. The row is compared with the class that it comes closest
to, in the network's distance, when one column is put right, among those classes that it is plausibly a row of. That
need not be the nearest class: one absurd value may carry a row past another class, and seen from there every column
would look wrong.

A column's share combines two views: how much nearer to the class the row comes when the column is put right, and how
surprising its value is for the class. Neither is enough. The network may hardly look at a column, and moves with
every ordinary difference in the others; and what is surprising need not matter to the score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gditd.explain.surprise import ClassShapes, ColumnMap

ZetaOf = Callable[[Tensor], Tensor]
"""Encoded rows (n, width) -> zeta (n, classes)."""

MOST_CLASSES = 8  # are tried for each row
MOST_SUSPECTS = 32  # columns are put right for each row and class: the most surprising ones
LEAST_WEIGHT = 0.3  # of surprise, for a column that the network does not look at
_MOST_VALUES = 20_000_000  # encoded values held at once


@dataclass(frozen=True)
class Attribution:
    """For each row the class it was compared with (n,), and each column's share (n, columns), which sum to 1."""

    classes: Tensor
    shares: Tensor


def attribute(rows: Tensor, gaps: Tensor, *, shapes: ClassShapes, columns: ColumnMap, zeta: ZetaOf) -> Attribution:
    """Explain encoded rows (n, width); gaps (n, columns) marks the values that are unexpectedly missing."""
    per_row = min(MOST_CLASSES, len(shapes.means)) * min(MOST_SUSPECTS, len(columns.names)) * rows.shape[1]
    at_once = max(1, _MOST_VALUES // per_row)
    parts = [
        _attribute(some_rows, some_gaps, shapes, columns, zeta)
        for some_rows, some_gaps in zip(torch.split(rows, at_once), torch.split(gaps, at_once), strict=True)
    ]
    return Attribution(torch.cat([part.classes for part in parts]), torch.cat([part.shares for part in parts]))


def _attribute(rows: Tensor, gaps: Tensor, shapes: ClassShapes, columns: ColumnMap, zeta: ZetaOf) -> Attribution:
    classes, plausible = shapes.plausible(rows, gaps, columns, MOST_CLASSES)
    surprise = shapes.surprise(rows, gaps, columns, classes)
    suspects = surprise.topk(min(MOST_SUSPECTS, len(columns.names)), dim=2).indices
    repaired = put_right(rows, gaps, shapes.means[classes], columns, suspects)
    found = zeta(repaired.flatten(0, 2)).view(*suspects.shape, -1)
    closeness = found.take_along_dim(classes[:, :, None, None], 3).squeeze(3)
    reached = closeness.amax(2).masked_fill(~plausible, -torch.inf)
    chosen = reached.argmax(1, keepdim=True)

    own = classes.gather(1, chosen)
    suspects, closeness, surprise = (
        each.take_along_dim(chosen.unsqueeze(2), 1).squeeze(1) for each in (suspects, closeness, surprise)
    )
    gains = (closeness - zeta(rows).gather(1, own)).clamp_min(0).double()
    gains = gains / gains.sum(1, keepdim=True).clamp_min(1e-30)
    weight = torch.full(surprise.shape, LEAST_WEIGHT, dtype=torch.float64).scatter_add_(1, suspects, gains)
    parts = weight * (1 + surprise.double())
    return Attribution(own.squeeze(1), parts / parts.sum(1, keepdim=True))


def put_right(rows: Tensor, gaps: Tensor, means: Tensor, columns: ColumnMap, suspects: Tensor) -> Tensor:
    """Give single columns the mean value: rows (n, w), means (n, k, w), suspects (n, k, s) -> (n, k, s, w)."""
    repaired = torch.where(columns.owners == suspects.unsqueeze(3), means.unsqueeze(2), rows[:, None, None, :])
    if columns.gap_feature is not None:
        every = gaps.sum(1)[:, None, None]
        left = (every - gaps.unsqueeze(1).take_along_dim(suspects, 2).int()) / every.clamp_min(1)
        repaired[..., columns.gap_feature] = rows[:, None, None, columns.gap_feature] * left
    return repaired
