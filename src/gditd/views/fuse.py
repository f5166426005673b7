"""Learn a fusion: views on the cohort, weights from classes left out, scales from rows set aside."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gditd.calibration import OOD, ClassCalibrator, decide, merge_rare
from gditd.training import Cohort
from gditd.training.runtime import one_thread
from gditd.views.costs import filled_up
from gditd.views.forecast import Caught, Forecast
from gditd.views.forest import Forest
from gditd.views.fusion import Fusion, Scales
from gditd.views.known_unknowns import FEWEST_KNOWN, FEWEST_ROWS, worth_learning
from gditd.views.lesson import MOST_ROWS, Lesson
from gditd.views.looks import MOST_CLASSES, Looks, ViewSet
from gditd.views.pooling import Pool
from gditd.views.weights import Candidates, Trial, auroc, evenness, prior_weights, ranks_among

Codes = NDArray[np.int64]

NAMING = "forest"  # the view whose votes name classes best: where it is none of the views, a forest may stand in

# Trees and ferns of what is learned only to see whether it catches a class; no more than half of the model's own.
MOST_OF_A_TRIAL: Mapping[str, int] = {"mixed-forest": 15, "mixed-ranges": 15, "forest": 15, "fern-likelihood": 32}
MOST_STRANGE = 800  # rows of a class left out that are looked at
MOST_KNOWN = 1_200  # known rows that they are compared with
FEWEST_MORE = 0.05  # of the rows that taught views: fewer, set aside, are not worth learning p-values' views anew
MOST_CUT = 5_000  # rows that tell how evenly questions cut them
MOST_CALIBRATING = 400  # rows of each known class that the forecast calibrates with

NOT_LEARNED = (
    f"the rows given as OOD were not learned: they are fewer than {FEWEST_ROWS}, or the table can spare fewer than "
    f"{FEWEST_KNOWN} rows to compare them with, or half of them did not help to catch the other half. The model is the "
    "same as without them"
)


@dataclass(frozen=True, eq=False)
class Material:
    """Encoded rows (n, width) and their classes, with the numbers of some rows.

    `taught` are the rows that the members learned from. The members that never saw a class learned from those of them
    in `learned`, and not from those in `compared`. `aside` are rows that nobody learned from, by which the views are
    brought to one scale; `calibrating` are others of that kind, which will calibrate the model. `owners` says which of
    the table's columns each encoded one is of, `numbers` which encoded ones hold a number. `trees` says how many trees
    or ferns each view has, `trial_share` how large a part of them serves in a trial, and `naming_trees` how many a
    forest has that only names classes. From a share `apart_from` of rows held out, what promises nothing is learned
    apart, from every row. `budget` is how many nanoseconds views may take for a row, if that matters. `ood` are rows
    known to be of no class.
    """

    values: Tensor
    codes: Codes
    n_classes: int
    taught: Codes
    learned: Codes
    compared: Codes
    aside: Codes
    calibrating: Codes
    owners: Codes
    numbers: Codes
    names: Sequence[str]
    trees: Mapping[str, int]
    trial_share: float
    naming_trees: int
    apart_from: float
    budget: float | None
    seed: int
    ood: Tensor | None = None

    def lesson(self, cohort: Cohort, *, without: int | None = None) -> Lesson:
        """What views of a cohort learn from that knows all classes, or all but one."""
        return self._lesson(cohort, self.taught if without is None else self.learned, without)

    def last_lesson(self, cohort: Cohort) -> Lesson | None:
        """The same with the rows set aside, once the views are on one scale; None where these are few."""
        if len(self.aside) < FEWEST_MORE * len(self.taught):
            return None
        return self._lesson(cohort, np.union1d(self.taught, self.aside), None)

    def every_row(self, cohort: Cohort) -> Lesson | None:
        """The same with the rows that calibrate too, for what makes no p-values; None where they are not missed.

        That is where there are more rows than a forest learns from anyway, or hardly more than taught views.
        """
        held_out = len(self.aside) + len(self.calibrating)
        if len(self.taught) >= MOST_ROWS or held_out < self.apart_from * len(self.taught):
            return None
        return self._lesson(cohort, np.concatenate([self.taught, self.aside, self.calibrating]), None)

    def _lesson(self, cohort: Cohort, rows: Codes, without: int | None) -> Lesson:
        classes = np.array([c for c in range(self.n_classes) if c != without])
        rows = rows[self.codes[rows] != (-1 if without is None else without)]
        codes = np.searchsorted(classes, self.codes[rows])
        return Lesson(cohort, self.values[torch.from_numpy(rows)], codes, classes, self.owners, self.seed)

    def afforded_trees(self, views: ViewSet, lesson: Lesson) -> Mapping[str, int]:
        """How many trees or ferns the final views have, once they learned a lesson: forests take what time is left."""
        if self.budget is None:
            return self.trees
        more_rows = len(lesson.rows) / len(self.taught)
        return filled_up(self.trees, views, lesson.cohort, self.budget, more_rows=more_rows)

    def some(self, rows: Codes, most: int) -> Codes:
        """At most so many of some rows."""
        return np.sort(np.random.default_rng(self.seed).permutation(rows)[:most])

    def evenness(self) -> float:
        """How evenly questions cut the rows that the members learned from."""
        rows = self.some(self.taught, MOST_CUT)
        return evenness(self.values[torch.from_numpy(rows)].numpy(), self.owners, self.numbers)

    def some_calibrating(self, *, without: int) -> Codes:
        """Rows that will calibrate the model, some of each class but one."""
        own = [self.calibrating[self.codes[self.calibrating] == c] for c in range(self.n_classes) if c != without]
        return np.concatenate([self.some(rows, MOST_CALIBRATING) for rows in own])


@dataclass(frozen=True, eq=False)
class LeftOut:
    """A class left out: its views, and what they saw of known rows (with their classes) and of the class's own.

    Of known rows there are two kinds: by one the views are brought to one scale, the other calibrates.
    """

    class_number: int
    views: ViewSet
    known: Looks
    codes: Codes
    calibrating: Looks
    calibrating_codes: Codes
    strange: Looks

    @classmethod
    def look(cls, material: Material, cohort: Cohort, class_number: int) -> LeftOut:
        """Learn the views of a member that never saw the class."""
        lesson = material.lesson(cohort, without=class_number)
        share = material.trial_share
        trees = {name: min(ceil(share * count), MOST_OF_A_TRIAL[name]) for name, count in material.trees.items()}
        views = ViewSet.learn(lesson, material.names, trees)
        known = material.some(material.compared[material.codes[material.compared] != class_number], MOST_KNOWN)
        strange = material.some(material.taught[material.codes[material.taught] == class_number], MOST_STRANGE)
        calibrating = material.some_calibrating(without=class_number)
        looks, codes = [], []
        for rows in (known, calibrating, strange):
            looks.append(views.look(cohort, material.values[torch.from_numpy(rows)]))
            codes.append(np.searchsorted(lesson.classes, material.codes[rows]))
        return cls(class_number, views, looks[0], codes[0], looks[1], codes[1], looks[2])

    def trial(self) -> Trial:
        """What the weights are learned from."""
        return trial_of(self.views, self.known, self.strange)

    def caught(self, weights: NDArray[np.float64], alpha: float) -> Caught:
        """How well the class is caught with weights learned from other classes.

        What is called OOD depends on the rows that calibrate, on how many of each class there are and how strange the
        rare ones look, so the model's own calibrate here too.
        """
        fusion = fuse(self.views, self.known, self.codes, weights)
        known, strange = fusion.scores(self.known), fusion.scores(self.strange)
        groups = merge_rare(np.bincount(self.calibrating_codes, minlength=known.shape[1]), alpha)
        calibrator = ClassCalibrator.fit(-fusion.scores(self.calibrating), self.calibrating_codes, groups=groups)
        p = calibrator.p_values(-strange)
        found = auroc(-known.max(axis=1), -strange.max(axis=1))
        return Caught(self.class_number, found, float((decide(p, strange, alpha) == OOD).mean()))


def learn_fusion(
    material: Material, cohort: Cohort, left_out: Mapping[int, Cohort], alpha: float
) -> tuple[Fusion, Forecast | None]:
    """Learn the fusion of a cohort's views, and forecast how well it will catch a class it has never seen.

    `left_out` has, for some of the classes, members that never saw the class.
    """
    with one_thread():
        lesson = material.lesson(cohort)
        views = ViewSet.learn(lesson, material.names, material.trees)
        absent = [LeftOut.look(material, members, number) for number, members in left_out.items()]
        prior = prior_weights(
            views.names,
            n_rows=len(material.taught),
            width=material.values.shape[1],
            n_classes=material.n_classes,
            even=material.evenness(),
        )
        candidates = Candidates.around(prior)
        found = [one.trial().aurocs(candidates.weights) for one in absent]
        learner = Learner(material, cohort, views, candidates, found)
        ood = material.ood
        if ood is not None and not worth_learning(ood, learner.ranks, len(material.aside)):
            warnings.warn(NOT_LEARNED, UserWarning, stacklevel=2)
            ood = None
        fusion = learner.fusion(ood)
    caught = [
        # A class must not choose the weights that are then tried on it.
        one.caught(candidates.mean(found[:number] + found[number + 1 :]), alpha)
        for number, one in enumerate(absent)
    ]
    with one_thread():
        light = fusion.lightened(material.budget, cohort=cohort)
        last, every_row = material.last_lesson(cohort), material.every_row(cohort)
        trees = material.afforded_trees(light.views, every_row or last or lesson)
        final = replace(
            light,
            views=light.views.filled_up(lesson, trees, ood) if last is None else light.views.regrown(last, trees, ood),
            complete=None if every_row is None else light.views.regrown(every_row, trees, ood),
        )
        final = naming(final, light, material, lesson, every_row)
    return final, Forecast.of(caught, alpha)


def naming(final: Fusion, light: Fusion, material: Material, lesson: Lesson, every_row: Lesson | None) -> Fusion:
    """Return the final fusion with what it takes to name classes.

    How much zeta and votes count in names is seen on the rows held out, by the fusion that learned the lesson alone.
    """
    if NAMING not in light.views.forests and material.naming_trees and 1 < material.n_classes <= MOST_CLASSES:
        trees = {"forest": material.naming_trees}
        light = replace(light, namer=Forest.learn(lesson, trees))
        final = replace(final, namer=light.namer if every_row is None else Forest.learn(every_row, trees))
    held_out = np.concatenate([material.aside, material.calibrating])
    values = material.values[torch.from_numpy(held_out)]
    looks = light.look(lesson.cohort, values)
    pool = Pool.fit(looks.zeta, light.naming_votes(looks, values), material.codes[held_out])
    return replace(final, naming_pool=pool)


@dataclass(frozen=True, eq=False)
class Learner:
    """Puts a cohort's views together, with or without rows known to be of no class.

    `found` has, for each class left out, how well the candidates among weights caught it.
    """

    material: Material
    cohort: Cohort
    views: ViewSet
    candidates: Candidates
    found: Sequence[NDArray[np.float64]]

    def fusion(self, ood: Tensor | None) -> Fusion:
        """The fusion of the views, with forests that learned these rows too."""
        if ood is None:
            return self._plain
        # What is really OOD counts as much as all that plays it. The trial comes before the forest learns of it.
        trial = trial_of(self.views, self._looks, self.views.look(self.cohort, ood))
        found = trial.aurocs(self.candidates.weights)
        views = self.views.with_forests(self.material.lesson(self.cohort), self.material.trees, ood)
        return self._fused(
            views, views.look(self.cohort, self._aside), [*self.found, *[found] * max(1, len(self.found))]
        )

    def ranks(self, ood: Tensor | None, rows: Tensor) -> NDArray[np.float64]:
        """How strange rows (n, width) are among known ones, (n,), once `ood` was learned."""
        fusion = self.fusion(ood)
        known, strange = (fusion.strangeness(fusion.look(self.cohort, own)) for own in (self._aside, rows))
        return ranks_among(known, strange)

    def _fused(self, views: ViewSet, looks: Looks, found: Sequence[NDArray[np.float64]]) -> Fusion:
        return fuse(views, looks, self.material.codes[self.material.aside], self.candidates.mean(found))

    @cached_property
    def _plain(self) -> Fusion:
        return self._fused(self.views, self._looks, self.found)

    @cached_property
    def _looks(self) -> Looks:
        return self.views.look(self.cohort, self._aside)

    @property
    def _aside(self) -> Tensor:
        return self.material.values[torch.from_numpy(self.material.aside)]


def trial_of(views: ViewSet, known: Looks, strange: Looks) -> Trial:
    """What the views saw of known rows and of strange ones, on the scale that the known ones set."""
    scales = Scales.fit(views, known.strangeness)
    return Trial(scales(known.strangeness), scales(strange.strangeness))


def fuse(views: ViewSet, known: Looks, codes: Codes, weights: NDArray[np.float64]) -> Fusion:
    """Put views together, with scales and pool from known rows that they did not learn from."""
    return Fusion(views, Scales.fit(views, known.strangeness), weights, Pool.fit(known.zeta, known.votes, codes))
