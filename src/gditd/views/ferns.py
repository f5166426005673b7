"""Ferns: every row is asked the same questions, and its answers are compared with those of known rows.

A fern has fourteen questions, each a column and a threshold, asked of every row alike. The answers lead to one of
16,384 cells. How many known rows of a class gave the very same answers tells how likely a row is among them, and where
nobody did, how far the row came in company: a turn that none of n rows took is worth minus the logarithm of
2 / (n + 1). Unlike a tree, a fern asks without regard to the answers before. That makes it weaker, but rows are asked
side by side, and a fern is many times quicker than a tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gditd.views.lesson import Lesson, some_rows

Floats = NDArray[np.float64]

QUESTIONS = 14  # of a fern
CELLS = 1 << QUESTIONS
MOST_FERNS = 512  # that a model file may have: an exported graph's float32 has room for what so many say together
MOST_ASKED = 4_000  # rows that choose a fern's questions; all of them fill its cells
SPARE_DRAWS = 3  # for each candidate: two rows may have the same value, and then there is nothing between
LEAST = 0.5  # of a known row, for a cell that has none
BACKED = 1.0  # rows of a class that answer as all known rows together do, besides its own
STEPS = 512  # to 1: values are whole numbers, so that sums are exact in whatever order they are made
LARGEST = np.iinfo(np.int16).max

KINDS: dict[str, type[np.generic]] = {
    "n_features": np.int64,
    "features": np.int32,
    "thresholds": np.float32,
    "counts": np.int64,
    "starts": np.int16,
    "values": np.int16,
}


class Entries(NamedTuple):
    """What a fern says of its cells. Neighbours of which it says the same share an entry.

    `starts` (entries,) are the first cell of each, ascending from 0; `values` (entries, classes + 1) say how unlikely a
    row is in each class, and how surprising.
    """

    starts: NDArray[np.int16]
    values: NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class Ferns:
    """Two views: how unlikely a row's answers are in the class they are likeliest in, and how surprising at all."""

    units: ClassVar[Mapping[str, float]] = {"fern-likelihood": 0.05, "fern-surprise": 0.05}

    n_features: int
    features: NDArray[np.int32]  # (ferns, questions)
    thresholds: NDArray[np.float32]  # (ferns, questions)
    counts: NDArray[np.int64]  # (ferns,) entries of each
    starts: NDArray[np.int16]  # (entries,), fern after fern
    values: NDArray[np.int16]  # (entries, classes + 1)

    @classmethod
    def learn(cls, lesson: Lesson, n_ferns: int) -> Self:
        """Choose the questions, and count the answers."""
        from gditd.views.questions import answer_all  # noqa: PLC0415 - takes a moment, and not every command needs it

        rng = np.random.default_rng(lesson.seed)
        rows, codes = some_rows(lesson, rng)
        mixed = rng.permutation(len(rows))  # so that any neighbours are a fair sample
        columns, codes = np.ascontiguousarray(rows[mixed].T), codes[mixed]
        features, thresholds, entries = [], [], []
        for _ in range(n_ferns):
            own_features, own_thresholds = questions(columns, codes, lesson.n_classes, rng)
            cells = np.zeros(len(codes), dtype=np.int32)
            answer_all(columns[own_features], own_thresholds, cells)
            features.append(own_features)
            thresholds.append(own_thresholds)
            entries.append(entries_of(cells, codes, lesson.n_classes))
        return cls(
            len(columns),
            np.stack(features).astype(np.int32),
            np.stack(thresholds),
            np.array([len(own.starts) for own in entries]),
            np.concatenate([own.starts for own in entries]),
            np.concatenate([own.values for own in entries]),
        )

    def strangeness(self, rows: Tensor) -> Floats:
        """How strange rows (n, features) are for each of the two views, (n, 2)."""
        from gditd.views.lanes import in_lanes  # noqa: PLC0415 - takes a moment, and not every command needs it
        from gditd.views.questions import look_up  # noqa: PLC0415 - as above

        if rows.shape[1:] != (self.n_features,):
            raise ValueError(f"the ferns take rows of {self.n_features} features, got shape {tuple(rows.shape)}")
        n_classes = self.values.shape[1] - 1
        sums = np.zeros((len(rows), in_lanes(n_classes + 1)), dtype=np.int32)
        look_up(*self._packed, np.require(rows.cpu().numpy(), np.float32, ["C", "A"]), sums)
        likeliest = sums[:, :n_classes].min(axis=1)
        return np.column_stack([likeliest, sums[:, n_classes]]) / (STEPS * len(self.counts))

    @cached_property
    def entry_of_cell(self) -> NDArray[np.int16]:
        """The number of each cell's entry among those of its fern, (ferns, cells)."""
        cell = np.repeat(np.arange(len(self.counts)) * CELLS, self.counts) + self.starts
        lengths = np.diff(cell, append=len(self.counts) * CELLS)
        number = np.arange(len(self.starts)) - np.repeat(self.first_entries, self.counts)
        return np.repeat(number, lengths).astype(np.int16).reshape(-1, CELLS)

    @property
    def first_entries(self) -> NDArray[np.int64]:
        """Where the entries of each fern start, (ferns,)."""
        first: NDArray[np.int64] = np.cumsum(self.counts) - self.counts
        return first

    @cached_property
    def _packed(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """As the compiled look takes them."""
        from gditd.views.lanes import in_lanes  # noqa: PLC0415 - as above

        asked, places = np.unique(self.features, return_inverse=True)
        n_values = self.values.shape[1]
        behind = np.zeros(in_lanes(n_values) - n_values, dtype=np.int16)
        return (
            (asked.astype(np.int64), places.reshape(self.features.shape).astype(np.int64), self.thresholds),
            (self.entry_of_cell, self.first_entries, n_values, np.append(self.values, behind)),
        )

    # --- the model file ---

    def state(self) -> dict[str, Tensor]:
        """All arrays, by name."""
        arrays = {name: np.asarray(getattr(self, name), dtype=kind) for name, kind in KINDS.items()}
        return {name: torch.from_numpy(np.atleast_1d(array)) for name, array in arrays.items()}

    @classmethod
    def from_state(cls, tensors: dict[str, Tensor], n_classes: int) -> Self:
        """Undo `state`; ValueError where the arrays do not fit together."""
        arrays: dict[str, Any] = {
            name: np.require(tensor.numpy(), requirements=["C", "A"]) for name, tensor in tensors.items()
        }
        if {name: array.dtype for name, array in arrays.items()} != KINDS or len(arrays["n_features"]) != 1:
            raise ValueError("the arrays of ferns are not of the right types")
        ferns = cls(**{**arrays, "n_features": int(arrays["n_features"][0])})
        ferns._refuse_unsafe(n_classes)
        return ferns

    def _refuse_unsafe(self, n_classes: int) -> None:
        """Refuse questions and cells that point outside: no look checks."""
        if self.counts.ndim != 1 or self.starts.ndim != 1:
            raise ValueError("the arrays of ferns have the wrong dimensions")
        n_ferns, n_entries = len(self.counts), len(self.starts)
        if not 0 < n_ferns <= MOST_FERNS:
            raise ValueError(f"there must be 1 to {MOST_FERNS} ferns, got {n_ferns}")
        if self.features.shape != (n_ferns, QUESTIONS) or self.thresholds.shape != (n_ferns, QUESTIONS):
            raise ValueError("the questions of ferns are not all there")
        if not ((self.features >= 0) & (self.features < self.n_features)).all():
            raise ValueError("a fern asks for a feature that its rows do not have")
        # Each count is looked at before they are added up: huge ones could overflow to the right sum.
        if self.counts.min() < 1 or self.counts.max() > CELLS or self.counts.sum() != n_entries:
            raise ValueError("the entries of ferns do not fit their number")
        if self.values.shape != (n_entries, n_classes + 1) or self.values.min() < 0:
            raise ValueError("the entries of ferns do not fit the classes")
        rises = np.diff(self.starts.astype(np.int64), prepend=-1) > 0
        rises[self.first_entries] = self.starts[self.first_entries] == 0
        if not rises.all() or self.starts.max() >= CELLS:
            raise ValueError("the cells of ferns are not in order")


def questions(
    columns: NDArray[np.float32], codes: NDArray[np.int64], n_classes: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Features and thresholds of a fern, (questions,) each, for rows as columns (features, n) and their classes.

    Of a few questions drawn at random, the one is asked that tells classes apart best, given the answers before it.
    """
    from gditd.views.questions import best_question, cut  # noqa: PLC0415 - as above

    start = int(rng.integers(max(len(codes) - MOST_ASKED, 0) + 1))
    asked, own_codes = columns[:, start : start + MOST_ASKED], codes[start : start + MOST_ASKED]
    cells, n_cells = np.zeros(len(own_codes), dtype=np.int64), 1
    features = np.empty(QUESTIONS, dtype=np.int64)
    thresholds = np.empty(QUESTIONS, dtype=np.float32)
    for place in range(QUESTIONS):
        drawn, between = candidates(asked, rng)
        values = asked[drawn]
        best = best_question(values, between, cells, n_cells, (own_codes, n_classes))
        features[place], thresholds[place] = drawn[best], between[best]
        n_cells = cut(values[best], between[best], cells, n_cells)
    return features, thresholds


def candidates(columns: NDArray[np.float32], rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Features and thresholds to choose from: as many as the root of the features' number, between two rows' values."""
    wanted = int(np.ceil(np.sqrt(len(columns))))
    n_draws = SPARE_DRAWS * wanted
    features = rng.integers(len(columns), size=n_draws)
    two = columns[features, rng.integers(columns.shape[1], size=(2, n_draws))]
    low, high = two.min(axis=0), two.max(axis=0)
    thresholds = (low + rng.random(n_draws) * (high.astype(np.float64) - low)).astype(np.float32)
    thresholds = np.where(thresholds >= high, low, thresholds)
    useful = np.flatnonzero(low < high)[:wanted]
    chosen = useful if len(useful) else np.arange(1)  # all rows may be equal: then any question will do
    return features[chosen], thresholds[chosen]


def entries_of(cells: NDArray[np.int32], codes: NDArray[np.int64], n_classes: int) -> Entries:
    """What a fern says of its cells, from the cells (n,) of known rows and their classes."""
    counts = np.bincount(cells * n_classes + codes, minlength=CELLS * n_classes).reshape(CELLS, n_classes)
    known = counts.sum(axis=1)
    present = np.flatnonzero(known)
    empty, worth = empty_cells(known)
    starts = np.concatenate([present, empty])
    unlikely = minus_log_shares(counts[starts])
    surprise = np.concatenate([np.zeros(len(present)), worth])
    order = np.argsort(starts)
    values = np.column_stack([unlikely, surprise])[order]
    in_steps = np.minimum(np.rint(STEPS * values), LARGEST)
    return Entries(starts[order].astype(np.int16), in_steps.astype(np.int16))


def minus_log_shares(counts: NDArray[np.int64]) -> Floats:
    """How unlikely each cell is in each class, from the rows (cells, classes) that are there.

    A class of few rows says little of its own, so it borrows: it has one row more, spread as all known rows are.
    """
    everyone = (counts.sum(axis=1, keepdims=True) + LEAST) / (counts.sum() + LEAST)
    unlikely: Floats = -np.log((counts + BACKED * everyone) / (counts.sum(axis=0) + BACKED))
    return unlikely


def empty_cells(known: NDArray[np.int64]) -> tuple[NDArray[np.int64], Floats]:
    """The first cell of each stretch of empty ones that a single turn leads to, and what that turn is worth.

    `known` (cells,) is how many known rows each has.
    """
    starts, worths = [], []
    took = known
    for question in reversed(range(QUESTIONS)):
        length = CELLS >> (question + 1)  # of the stretch of cells that an answer leaves
        came = took[::2] + took[1::2]
        nobody = np.flatnonzero((took == 0) & (np.repeat(came, 2) > 0))
        starts.append(nobody * length)
        worths.append(np.log((came[nobody // 2] + 1) / 2))
        took = came
    return np.concatenate(starts), np.concatenate(worths)
