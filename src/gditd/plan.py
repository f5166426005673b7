"""Which rows each member of a cohort learns from, and which calibrate it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gditd.training import Member

Calibration = Literal["cross", "split", "none"]

SHARE_HELD_OUT = 0.3  # by split calibration


@dataclass(frozen=True)
class Plan:
    """Members, and the folds that calibrate them.

    A row with fold f >= 0 is unknown to the members of fold f and calibrates their scores; fold -1 means that
    every member learns from it.
    """

    members: list[Member]
    fold_of_member: NDArray[np.int64]
    fold_of_row: NDArray[np.int64]


def make_plan(
    codes: NDArray[np.int64], *, calibration: Calibration, n_members: int, rng: np.random.RandomState
) -> Plan:
    """Plan a cohort of `n_members` for rows of classes `codes`.

    "cross" gives each member a fold of its own to stay out of, "split" keeps the same rows out of all of them,
    "none" lets every member learn from every row.
    """
    seeds = [int(seed) for seed in rng.randint(2**31 - 1, size=n_members)]
    if calibration == "cross" and n_members < 2:
        raise ValueError('calibration="cross" needs n_members of at least 2: choose more, or calibration="split"')
    fold_of_row = np.full(len(codes), -1)
    if calibration == "cross":
        fold_of_row = deal_folds(codes, n_members, rng)
    elif calibration == "split":
        fold_of_row = hold_out(codes, rng)
    fold_of_member = np.arange(n_members) if calibration == "cross" else np.zeros(n_members, dtype=np.int64)
    members = [
        Member(np.flatnonzero(fold_of_row != fold), seed) for fold, seed in zip(fold_of_member, seeds, strict=True)
    ]
    return Plan(members, fold_of_member, fold_of_row)


def deal_folds(codes: NDArray[np.int64], n_folds: int, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Deal each class's rows over the folds in turn; a class of one row stays in training everywhere."""
    folds = np.full(len(codes), -1)
    start = 0
    for own in shuffled_classes(codes, rng):
        if len(own) < 2:
            continue
        folds[own] = (start + np.arange(len(own))) % n_folds
        start += len(own)  # go on where the last class ended, so that small classes do not pile up in one fold
    return folds


def hold_out(codes: NDArray[np.int64], rng: np.random.RandomState) -> NDArray[np.int64]:
    """Put a share of each class into fold 0, never the whole class."""
    folds = np.full(len(codes), -1)
    for own in shuffled_classes(codes, rng):
        folds[own[: min(int(np.ceil(SHARE_HELD_OUT * len(own))), len(own) - 1)]] = 0
    return folds


def shuffled_classes(codes: NDArray[np.int64], rng: np.random.RandomState) -> list[NDArray[np.int64]]:
    """The rows of each class, in random order."""
    return [rng.permutation(np.flatnonzero(codes == c)) for c in np.unique(codes)]
