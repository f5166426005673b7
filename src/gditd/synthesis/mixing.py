"""The release step on numbers: every row that comes out mixes a row with near neighbours of its own class.

A row is mixed with two neighbours, not with one as in SMOTE. Several mixtures of the same two rows lie on a line that
leads back to both of them; mixtures with changing partners do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

Floats = NDArray[np.floating[Any]]
Rows = NDArray[np.int64]

NEIGHBOURS = 5
OWN_SHARE = (0.3, 0.7)  # how much of a mixture is the row it started from
FIRST_SHARE = (0.2, 0.8)  # how much of the rest is the first partner
POOL = 2_048  # a row's neighbours are searched among so many of its class, so that cost is linear in rows
CHUNK = 1_024


@dataclass(frozen=True)
class Mixtures:
    """The parents of each new row, (n, 3) row numbers, and how much of it each is, (n, 3) summing to 1."""

    parents: Rows
    weights: Floats

    def of(self, values: Floats) -> Floats:
        """Mix rows of numbers, in the type they have; memory holds a chunk of the parents at a time."""
        mixed = np.empty((len(self.parents), values.shape[1]), values.dtype)
        for start in range(0, len(self.parents), CHUNK):
            part = slice(start, start + CHUNK)
            weights = self.weights[part].astype(values.dtype)
            mixed[part] = np.einsum("np,npc->nc", weights, values[self.parents[part]])
        return mixed

    def drawn(self, rng: np.random.Generator) -> Rows:
        """One parent a row, drawn by weight: for what cannot be mixed."""
        place = (rng.random(len(self.weights))[:, None] > self.weights.cumsum(axis=1)[:, :-1]).sum(axis=1)
        return np.asarray(self.parents[np.arange(len(place)), place])


def mix_rows(values: Floats, rng: np.random.Generator, *, neighbours: int = NEIGHBOURS) -> Floats:
    """Mix rows of one class, each row the start of one mixture; columns count by their spread."""
    spread = values.std(axis=0)
    space = values / np.where(spread > 0, spread, 1)
    rows = np.arange(len(values))
    return plan_mixtures(space, rows, rows, rng, neighbours=neighbours).of(values)


def plan_mixtures(
    space: Floats, members: Rows, starts: Rows, rng: np.random.Generator, *, neighbours: int = NEIGHBOURS
) -> Mixtures:
    """Choose partners among the `members` of a class for each row to start from.

    `space` (n, d) is where rows are near or far. A row whose pool holds no other row than its like is its own partner.
    """
    partners = np.concatenate(list(_partners(space, members, starts, rng, neighbours)))
    own = rng.uniform(*OWN_SHARE, len(starts))
    first = (1 - own) * rng.uniform(*FIRST_SHARE, len(starts))
    return Mixtures(np.column_stack([starts, partners]), np.column_stack([own, first, 1 - own - first]))


def _partners(space: Floats, members: Rows, starts: Rows, rng: np.random.Generator, neighbours: int) -> Iterator[Rows]:
    """Two of the nearest rows for each start, chunk by chunk."""
    members_known = row_marks(space, members)
    for chunk in (starts[i : i + POOL] for i in range(0, len(starts), POOL)):
        drawn = np.sort(rng.choice(len(members), min(len(members), POOL), replace=False))
        # Rows that are alike count once, or a row's nearest neighbours may all be its doubles.
        drawn = drawn[np.sort(np.unique(members_known[drawn], return_index=True)[1])]
        pool, marks = members[drawn], members_known[drawn]
        search = NearestNeighbors(n_neighbors=min(neighbours + 1, len(pool)), algorithm="brute").fit(space[pool])
        near = search.kneighbors(space[chunk], return_distance=False)
        order = rng.random(near.shape)
        order[marks[near] == row_marks(space, chunk)[:, None]] = 2  # itself, or its double
        if near.shape[1] > neighbours:  # of k + 1 rows that are all others, the farthest was one too many
            order[order.max(axis=1) < 2, -1] = 2
        choice = np.argsort(order, axis=1)[:, :2]
        picked = pool[np.take_along_axis(near, choice, axis=1)]
        usable = np.take_along_axis(order, choice, axis=1) < 2
        yield _two_partners(picked, usable, chunk)


def _two_partners(picked: Rows, usable: NDArray[np.bool_], chunk: Rows) -> Rows:
    """Fill up where there was one partner, or none: with the same again, or with the row itself."""
    first = np.where(usable[:, 0], picked[:, 0], chunk)
    second = np.where(usable[:, 1], picked[:, 1], first) if picked.shape[1] > 1 else first
    return np.column_stack([first, second])


def row_marks(values: NDArray[Any], rows: Rows | None = None) -> NDArray[np.int64]:
    """A number for each row's content: equal rows have the same, different rows all but surely another."""
    numbers = range(len(values)) if rows is None else rows
    return np.array([hash(values[row].tobytes()) for row in numbers], np.int64)
