"""Which columns push a row out of the known classes: those that, put right, bring it back.

To put a column right is to give it the value of a class's typical row. The row is compared with the class it comes
back to by the fewest columns put right: none if it already lies as close as most of the class's own rows do, else
one, else two. That need not be the nearest class: one absurd value may carry a row past another class, and seen from
there every column would look wrong.

Against that class, each column gets its Shapley value: what putting it right is worth, on average over the company
of other suspect columns put right before it. So of two columns that only clash with each other both are named, and
two absurd values do not hide each other. Suspects are taken in groups, the worst first, because subsets of a group
can all be tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import torch
from torch import Tensor

from gditd.tables import TableEncoder

ClassScores = Callable[[Tensor], Tensor]
"""Encoded rows (n, width) -> zeta (n, classes), differentiable."""

MOST_CLASSES = 8  # are tried for each row
MOST_SUSPECTS = 32  # columns of each row and class are tried
GROUP = 6  # suspects whose subsets are all tried: 2 ** 6 rows
_STEPS = 8  # of integrated gradients, which only choose the suspects
FAR = 4.0  # squared distance beyond which a column says no more about which class is alike
_CHUNK_ROWS = 2048
_CHUNK_VALUES = 20_000_000  # encoded values held at once


@dataclass(frozen=True)
class ColumnMap:
    """Which raw column each encoded feature belongs to.

    `owners` (width,) are column numbers; the "unexpected missing" feature belongs to no column and has
    number len(names). `gap_feature` is its place, None if there is none.
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

    def by_column(self, features: Tensor) -> Tensor:
        """Sum features (..., width) to columns (..., columns); the feature of no column is left out."""
        sums = features.new_zeros(*features.shape[:-1], len(self.names) + 1)
        return sums.index_add_(-1, self.owners, features)[..., :-1]

    def features_of(self, columns: Tensor) -> Tensor:
        """Mark the features (..., width) of marked columns (..., columns)."""
        nobody = columns.new_zeros(*columns.shape[:-1], 1)
        return torch.cat([columns, nobody], dim=-1).index_select(-1, self.owners)


@dataclass(frozen=True)
class Attribution:
    """For each row the class it was compared with (n,), and each column's share of the distance (n, columns)."""

    classes: Tensor
    shares: Tensor


@dataclass(frozen=True)
class Repair:
    """Puts columns right. `typical` (classes, width) are typical rows, `close` (classes,) a zeta that is usual."""

    columns: ColumnMap
    typical: Tensor
    close: Tensor
    scores: ClassScores

    def attribute(self, rows: Tensor, gaps: Tensor) -> Attribution:
        """Explain encoded rows (n, width); gaps (n, columns) marks the values that are unexpectedly missing."""
        tried = min(MOST_CLASSES, len(self.typical)) * min(MOST_SUSPECTS, gaps.shape[1])
        at_once = max(1, _CHUNK_VALUES // (max(tried, 2**GROUP) * rows.shape[1]))
        parts = [
            self._attribute(*part)
            for part in zip(torch.split(rows, at_once), torch.split(gaps, at_once), strict=True)
        ]
        return Attribution(torch.cat([p.classes for p in parts]), torch.cat([p.shares for p in parts]))

    def _attribute(self, rows: Tensor, gaps: Tensor) -> Attribution:
        zeta = in_chunks(self.scores, rows)
        classes = self._alike(rows, zeta)
        none = torch.zeros(*classes.shape, 1, gaps.shape[1], dtype=torch.bool)
        suspects = self._suspects(rows, classes)
        singles = none.expand(-1, -1, suspects.shape[2], -1).scatter(3, suspects.unsqueeze(3), True)
        zero = zeta.gather(1, classes)
        one = self._closeness(rows, gaps, classes, singles)
        best = one.argmax(2, keepdim=True)
        pairs = singles | singles.take_along_dim(best.unsqueeze(3), 2)
        two = self._closeness(rows, gaps, classes, pairs)
        chosen = self._fewest(zero, one.amax(2), two.amax(2), self.close[classes]).unsqueeze(1)

        # How much each suspect helps alone and after the best one, which itself comes first.
        worth = (one - zero.unsqueeze(2)) + (two - one.gather(2, best))
        worth = worth.scatter(2, best, float("inf")).take_along_dim(chosen.unsqueeze(2), 1)[:, 0]
        suspects = suspects.take_along_dim(chosen.unsqueeze(2), 1)[:, 0]
        order = suspects.take_along_dim(worth.argsort(dim=1, descending=True, stable=True), 1)
        own = classes.gather(1, chosen)
        helps = self._shapley(rows, gaps, own, order).clamp_min(0)
        whole = self._closeness(rows, gaps, own, ~none[:, :1])[:, 0] - zero.gather(1, chosen)
        return Attribution(own[:, 0], helps / helps.sum(1, keepdim=True).maximum(whole).clamp_min(1e-30))

    def _alike(self, rows: Tensor, zeta: Tensor) -> Tensor:
        """The classes worth trying (n, k): those whose typical row is alike in most columns, and the nearest."""
        if len(self.typical) <= MOST_CLASSES:
            return torch.arange(len(self.typical)).expand(len(rows), -1)
        far = [self.columns.by_column((rows - typical).square()).clamp_max(FAR).sum(1) for typical in self.typical]
        distance = torch.stack(far, dim=1).scatter(1, zeta.argmax(1, keepdim=True), -1.0)
        return distance.topk(MOST_CLASSES, largest=False).indices

    def _suspects(self, rows: Tensor, classes: Tensor) -> Tensor:
        """The columns worth trying (n, k, s): by integrated gradients of zeta from the row to the typical row."""
        n_columns = len(self.columns.names)
        if n_columns <= MOST_SUSPECTS:
            return torch.arange(n_columns).expand(*classes.shape, -1)
        way = self.typical[classes] - rows.unsqueeze(1)
        slope = torch.zeros_like(way)
        for step in range(_STEPS):
            x = (rows.unsqueeze(1) + way * (step + 0.5) / _STEPS).flatten(0, 1).requires_grad_()
            zeta = self.scores(x).gather(1, classes.reshape(-1, 1))
            slope += torch.autograd.grad(zeta.sum(), x)[0].view_as(way) / _STEPS
        return self.columns.by_column(slope * way).topk(MOST_SUSPECTS).indices

    def _fewest(self, zero: Tensor, one: Tensor, two: Tensor, close: Tensor) -> Tensor:
        """Choose the class (n,) among (n, k) that the row comes back to by the fewest columns put right."""
        chosen = two.argmax(1)
        for reached in (one, zero):
            chosen = torch.where((reached >= close).any(1), reached.argmax(1), chosen)
        return chosen

    def _shapley(self, rows: Tensor, gaps: Tensor, classes: Tensor, order: Tensor) -> Tensor:
        """What each column is worth (n, columns), group by group of `order`; earlier groups stay put right."""
        worth = torch.zeros(gaps.shape, dtype=torch.float64)
        done = torch.zeros(gaps.shape, dtype=torch.bool)
        for group in torch.split(order, GROUP, dim=1):
            subsets, weights = shapley_game(group.shape[1])
            marked = subsets.to(torch.int8).expand(len(rows), -1, -1)
            chosen = torch.zeros(*marked.shape[:2], gaps.shape[1], dtype=torch.int8)
            chosen = chosen.scatter(2, group.unsqueeze(1).expand_as(marked), marked).bool() | done.unsqueeze(1)
            closeness = self._closeness(rows, gaps, classes, chosen.unsqueeze(1))[:, 0]
            worth.scatter_(1, group, closeness.double() @ weights)
            done = chosen[:, -1]
        return worth

    def _closeness(self, rows: Tensor, gaps: Tensor, classes: Tensor, chosen: Tensor) -> Tensor:
        """Zeta of classes (n, k) when columns are put right by their typical rows: chosen (n, k, s, columns)."""
        x = torch.where(self.columns.features_of(chosen), self.typical[classes].unsqueeze(2), rows[:, None, None, :])
        if self.columns.gap_feature is not None:
            every = gaps[:, None, None, :]
            left = (every & ~chosen).sum(3) / every.sum(3).clamp_min(1)
            x[..., self.columns.gap_feature] = rows[:, None, None, self.columns.gap_feature] * left
        zeta = in_chunks(self.scores, x.flatten(0, 2)).view(*chosen.shape[:3], -1)
        return zeta.take_along_dim(classes[:, :, None, None], 3).squeeze(3)


def in_chunks(scores: ClassScores, x: Tensor) -> Tensor:
    """Zeta (n, classes) of any number of rows, without gradients."""
    with torch.no_grad():
        return torch.cat([scores(chunk) for chunk in torch.split(x, _CHUNK_ROWS)])


def shapley_game(n_players: int) -> tuple[Tensor, Tensor]:
    """All subsets (2 ** m, m), the full one last, and weights (2 ** m, m): values @ weights are Shapley values."""
    subsets = (torch.arange(2**n_players).unsqueeze(1) >> torch.arange(n_players)) & 1
    with_player = torch.tensor([1 / (n_players * comb(n_players - 1, k)) for k in range(n_players)] + [0.0]).double()
    sizes = subsets.sum(1, keepdim=True)
    weights = torch.where(subsets.bool(), with_player[(sizes - 1).clamp_min(0)], -with_player[sizes])
    return subsets.bool(), weights
