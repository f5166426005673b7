"""Which rows each member of a cohort learns from, and which calibrate it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gditd.training import Member

Calibration = Literal["split", "cross", "none"]

# Split calibration holds out this share of a class. Of a large one it is less: as many rows as it takes to reject
# anything at the alpha asked for, and a small share on top. The others are worth more in training than in p-values
# finer than anybody needs.
SHARE_HELD_OUT = 0.3
SHARE_BEYOND = 0.08
MOST_HELD_OUT = 2_000

EVERYWHERE = -1
"""The fold of rows that every member learns from."""

ASIDE = -2
"""The fold of rows that neither teach nor calibrate: by them the views are brought to one scale."""

SHARE_ASIDE = 1 / 4  # of the rows held out
MOST_ASIDE = 300  # of a class
FEWEST_ASIDE = 20  # of all classes together, below which the rows that teach must help out
SHARE_OF_TAUGHT = 0.15
FEWEST_OF_A_SCALE = 3  # rows: fewer tell nothing of one, and where classes have a handful of rows each gives one

ROUNDING = 1e-9  # of products and quotients of alpha that are whole numbers but for it

FEWEST_LEFT_OUT = 10  # rows of a class that is left out: fewer would tell nothing
FEWEST_COMPARED = 20  # known rows that they are compared with
SHARE_COMPARED = 0.15  # of the other rows: members that never saw a class did not see these either
MOST_LEARNED = 5_000  # rows of such a member: it must be good enough to rank the views, not more


@dataclass(frozen=True)
class Plan:
    """Members, and the folds that calibrate them.

    A row of fold f in 0 .. n_members - 1 is unknown to member f and calibrates its scores. A row of the shared fold,
    number n_members, is unknown to all members and calibrates their mean. Fold -1: every member learns from the row.
    Fold -2: no member does, and it calibrates nothing.

    `left_out` has for some classes one more member. Of the rows `learned` it sees those of other classes, and none of
    the rows `compared`: known rows that the class's own are compared with.
    """

    members: list[Member]
    fold_of_row: NDArray[np.int64]
    left_out: dict[int, Member] = field(default_factory=dict)
    learned: NDArray[np.int64] = field(default_factory=lambda: np.arange(0))
    compared: NDArray[np.int64] = field(default_factory=lambda: np.arange(0))

    @property
    def shared_fold(self) -> int:
        """The fold that all members stay out of."""
        return len(self.members)

    @property
    def held_out(self) -> NDArray[np.bool_]:
        """The rows that no member learns from, (n,)."""
        return np.isin(self.fold_of_row, (self.shared_fold, ASIDE))

    @property
    def taught(self) -> NDArray[np.int64]:
        """The rows that every member learns from."""
        return np.flatnonzero(self.fold_of_row == EVERYWHERE)

    @property
    def calibrating(self) -> NDArray[np.int64]:
        """The rows that calibrate the mean of all members."""
        return np.flatnonzero(self.fold_of_row == self.shared_fold)

    @property
    def aside(self) -> NDArray[np.int64]:
        """The rows set aside for the scales of views."""
        return np.flatnonzero(self.fold_of_row == ASIDE)


def make_plan(
    codes: NDArray[np.int64],
    *,
    calibration: Calibration,
    n_members: int,
    alpha: float,
    rng: np.random.RandomState,
    fused: bool = False,
    most_left_out: int = 0,
) -> Plan:
    """Plan a cohort of `n_members` for rows of classes `codes`.

    "split" keeps rows of every class out of all members, "cross" gives each member a fold of its own to stay out of,
    "none" lets every member learn from every row. `fused`, with "split" only, sets some of the rows held out aside for
    the scales of views, and leaves at most so many classes out, each of a member of its own, to learn their weights.
    """
    seeds = [int(seed) for seed in rng.randint(2**31 - 1, size=n_members)]
    if calibration == "cross" and n_members < 2:
        raise ValueError('calibration="cross" needs n_members of at least 2: choose more, or calibration="split"')
    folds = np.full(len(codes), EVERYWHERE)
    start = 0
    for own in shuffled_classes(codes, rng):
        if calibration == "split":
            held_out = n_held_out(len(own), alpha)
            folds[own[: held_out if fused else in_full_steps(held_out, alpha)]] = n_members
        elif calibration == "cross" and len(own) > 1:  # a class of one row stays in training everywhere
            folds[own] = (start + np.arange(len(own))) % n_members
            start += len(own)  # go on where the last class ended, so that small classes do not pile up in one fold
    if fused:
        set_aside(codes, folds, n_members, alpha, rng)
    if calibration == "split":
        give_back_surplus(codes, folds, n_members, alpha, rng)
    members = [
        Member(np.flatnonzero(~np.isin(folds, (number, n_members, ASIDE))), seed) for number, seed in enumerate(seeds)
    ]
    if not fused:
        return Plan(members, folds)
    taught = np.flatnonzero(folds == EVERYWHERE)
    compared = np.sort(
        np.concatenate([taught[own[: int(SHARE_COMPARED * len(own))]] for own in shuffled_classes(codes[taught], rng)])
    )
    learned = sampled(np.setdiff1d(taught, compared), codes, rng)
    left_out = {
        c: Member(learned[codes[learned] != c], int(rng.randint(2**31 - 1)))
        for c in classes_to_leave_out(codes[taught], most_left_out)
        if np.count_nonzero(codes[compared] != c) >= FEWEST_COMPARED
    }
    return Plan(members, folds, left_out, learned, compared)


def sampled(rows: NDArray[np.int64], codes: NDArray[np.int64], rng: np.random.RandomState) -> NDArray[np.int64]:
    """About MOST_LEARNED of the rows, each class in proportion, but no class below FEWEST_LEFT_OUT rows."""
    share = min(1.0, MOST_LEARNED / max(len(rows), 1))
    own = [rows[places] for places in shuffled_classes(codes[rows], rng)]
    return np.sort(np.concatenate([part[: max(int(np.ceil(share * len(part))), FEWEST_LEFT_OUT)] for part in own]))


def set_aside(
    codes: NDArray[np.int64], folds: NDArray[np.int64], shared_fold: int, alpha: float, rng: np.random.RandomState
) -> None:
    """Move rows to the fold set aside: of those held out, as many as calibration can spare, or else of those taught."""
    held_out = rows_of_classes(codes, folds, shared_fold, rng)
    spared = [own[: n_spared(len(own), alpha)] for own in held_out]
    if sum(map(len, spared)) < FEWEST_ASIDE:
        for own in held_out:
            folds[own[in_full_steps(len(own), alpha) :]] = EVERYWHERE
        taught = rows_of_classes(codes, folds, EVERYWHERE, rng)
        wanted = n_for_scales([len(own) for own in taught])
        spared = [own[:count] for own, count in zip(taught, wanted, strict=True)]
    folds[np.concatenate(spared)] = ASIDE


def n_for_scales(sizes: list[int]) -> list[int]:
    """How many of the rows taught of each class are set aside: a share, but FEWEST_OF_A_SCALE if they can be spared."""
    wanted = [int(SHARE_OF_TAUGHT * size) for size in sizes]
    if sum(wanted) < FEWEST_OF_A_SCALE:
        wanted = [max(count, min(1, size - 1)) for count, size in zip(wanted, sizes, strict=True)]
    while sum(wanted) < FEWEST_OF_A_SCALE:
        most = max(range(len(sizes)), key=lambda place: sizes[place] - wanted[place])
        if sizes[most] - wanted[most] <= 1:  # a row of each class must go on teaching
            break
        wanted[most] += 1
    return wanted


def give_back_surplus(
    codes: NDArray[np.int64], folds: NDArray[np.int64], shared_fold: int, alpha: float, rng: np.random.RandomState
) -> None:
    """Let rows of rare classes teach that their common calibration cannot use: see `in_full_steps`.

    They are taken where most of a class is held out, so that those left are a mix like that of the classes.
    """
    calibrating = rows_of_classes(codes, folds, shared_fold, rng)
    rare = [own for own in calibrating if 0 < len(own) < enough_to_reject(alpha)]
    sizes = [np.count_nonzero(codes == codes[own[0]]) for own in rare]
    together = sum(map(len, rare))
    for _ in range(together - in_full_steps(together, alpha)):
        most = max(range(len(rare)), key=lambda place: len(rare[place]) / sizes[place])
        folds[rare[most][-1]] = EVERYWHERE
        rare[most] = rare[most][:-1]


def rows_of_classes(
    codes: NDArray[np.int64], folds: NDArray[np.int64], fold: int, rng: np.random.RandomState
) -> list[NDArray[np.int64]]:
    """The rows of each class that are in a fold, in random order.

    A table's own order may mean something, sites or days say, and no part of it must calibrate more than another.
    """
    return [rng.permutation(np.flatnonzero((folds == fold) & (codes == c))) for c in np.unique(codes)]


def classes_to_leave_out(codes: NDArray[np.int64], most: int) -> list[int]:
    """At most so many classes, from the rarest to the largest, evenly spread; two others at least must remain."""
    counts = np.bincount(codes)
    if np.count_nonzero(counts) < 3:
        return []
    candidates = np.flatnonzero(counts >= FEWEST_LEFT_OUT)
    by_size = candidates[np.argsort(counts[candidates], kind="stable")]
    picked = np.unique(np.linspace(0, len(by_size) - 1, min(most, len(by_size))).round().astype(int))
    return sorted(by_size[picked].tolist()) if len(by_size) else []


def n_held_out(n_rows: int, alpha: float) -> int:
    """How many rows of a class to hold out; never all of them."""
    of_a_large_class = enough_to_reject(alpha) + SHARE_BEYOND * n_rows
    return min(int(np.ceil(min(SHARE_HELD_OUT * n_rows, of_a_large_class))), MOST_HELD_OUT, n_rows - 1)


def n_spared(n_rows: int, alpha: float) -> int:
    """How many of the rows held out of a class need not calibrate it."""
    wanted = min(int(SHARE_ASIDE * n_rows), MOST_ASIDE, max(n_rows - enough_to_reject(alpha), 0))
    return n_rows - in_full_steps(n_rows - wanted, alpha)


def in_full_steps(n_rows: int, alpha: float) -> int:
    """At most so many rows, as many as p-values can use to the full.

    Of 20 rows the strangest may be rejected at alpha 0.05, of 40 the two strangest: with 39 it would be one, and only
    half of the false alarms that are allowed, and fewer unseen rows caught.
    """
    rejected = int(np.ceil(alpha * (n_rows + 1) - ROUNDING)) - 1  # most ranks r with r / (n_rows + 1) < alpha
    return int(rejected / alpha + ROUNDING) if rejected > 0 else n_rows


def enough_to_reject(alpha: float) -> int:
    """How many rows of a class it takes for p-values below alpha."""
    return int(1 / alpha + ROUNDING)


def shuffled_classes(codes: NDArray[np.int64], rng: np.random.RandomState) -> list[NDArray[np.int64]]:
    """The rows of each class, in random order."""
    return [rng.permutation(np.flatnonzero(codes == c)) for c in np.unique(codes)]
