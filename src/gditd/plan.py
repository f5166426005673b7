"""Which rows each member of a cohort learns from, and which calibrate it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gditd.training import Member

Calibration = Literal["split", "cross", "none"]

# Split calibration holds out this share of a class, but no more rows than these: more would make its p-values finer
# than anybody needs.
SHARE_HELD_OUT = 0.3
MOST_HELD_OUT = 2_000

EVERYWHERE = -1
"""The fold of rows that every member learns from."""


@dataclass(frozen=True)
class Plan:
    """Members, and the folds that calibrate them.

    A row of fold f in 0 .. n_members - 1 is unknown to member f and calibrates its scores. A row of the shared fold,
    number n_members, is unknown to all members and calibrates their mean. Fold -1: every member learns from the row.
    """

    members: list[Member]
    fold_of_row: NDArray[np.int64]

    @property
    def shared_fold(self) -> int:
        """The fold that all members stay out of."""
        return len(self.members)


def make_plan(
    codes: NDArray[np.int64],
    *,
    calibration: Calibration,
    n_members: int,
    rng: np.random.RandomState,
) -> Plan:
    """Plan a cohort of `n_members` for rows of classes `codes`.

    "split" keeps rows of every class out of all members, "cross" gives each member a fold of its own to stay out of,
    "none" lets every member learn from every row.
    """
    seeds = [int(seed) for seed in rng.randint(2**31 - 1, size=n_members)]
    if calibration == "cross" and n_members < 2:
        raise ValueError('calibration="cross" needs n_members of at least 2: choose more, or calibration="split"')
    folds = np.full(len(codes), EVERYWHERE)
    start = 0
    for own in shuffled_classes(codes, rng):
        if calibration == "split":
            folds[own[: n_held_out(len(own))]] = n_members
        elif calibration == "cross" and len(own) > 1:  # a class of one row stays in training everywhere
            folds[own] = (start + np.arange(len(own))) % n_members
            start += len(own)  # go on where the last class ended, so that small classes do not pile up in one fold
    members = [
        Member(np.flatnonzero((folds != number) & (folds != n_members)), seed) for number, seed in enumerate(seeds)
    ]
    return Plan(members, folds)


def n_held_out(n_rows: int) -> int:
    """How many rows of a class to hold out; never all of them."""
    return min(int(np.ceil(SHARE_HELD_OUT * n_rows)), MOST_HELD_OUT, n_rows - 1)


def shuffled_classes(codes: NDArray[np.int64], rng: np.random.RandomState) -> list[NDArray[np.int64]]:
    """The rows of each class, in random order."""
    return [rng.permutation(np.flatnonzero(codes == c)) for c in np.unique(codes)]
