"""All views of one cohort, and what they see of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gditd.training import Cohort
from gditd.training.cohort import Seen
from gditd.views.base import View, of_classes
from gditd.views.ferns import Ferns
from gditd.views.forest import Forest, MixedForest, Walk
from gditd.views.lesson import Lesson
from gditd.views.mahalanobis import ColumnMahalanobis, EmbeddingMahalanobis, HiddenMahalanobis
from gditd.views.prototypes import EmbeddingPrototypes, HiddenPrototypes
from gditd.views.rivals import ColumnRivals, DrawnInRivals
from gditd.views.zeta import Disagreement, Zeta

Floats = NDArray[np.float64]

VIEWS: Mapping[str, type[View]] = {
    "zeta": Zeta,
    "disagreement": Disagreement,
    "hidden-prototypes": HiddenPrototypes,
    "embedding-prototypes": EmbeddingPrototypes,
    "hidden-mahalanobis": HiddenMahalanobis,
    "embedding-mahalanobis": EmbeddingMahalanobis,
    "column-mahalanobis": ColumnMahalanobis,
    "column-rivals": ColumnRivals,
    "drawn-in-rivals": DrawnInRivals,
}
FORESTS: Mapping[str, type[Forest]] = {"mixed-forest": MixedForest, "forest": Forest}  # some give several views
FERNS: Mapping[str, type[Ferns]] = {"fern-likelihood": Ferns}

NETWORKS = "networks"  # the source of views that look at layers
ABSURD = 1e30
WIDEST = 256  # encoded columns; beyond, the distance among them costs more than all networks
# Beyond, a share for each class would fill the memory: in every cell of every fern, and while it grows, in every leaf
# of the forest that only names classes.
MOST_CLASSES = 100


@dataclass(frozen=True, eq=False)
class Looks:
    """What views see of n rows: strangeness (n, views), and what the rows met in each forest."""

    strangeness: Floats
    walks: Sequence[tuple[Forest, Walk]]
    find_zeta: Callable[[], Floats]

    @cached_property
    def zeta(self) -> Floats:
        """Mean zeta by the networks, (n, classes). Where no view asks for them, they run only for who asks this."""
        return self.find_zeta()

    @cached_property
    def votes(self) -> Floats:
        """The forests' mean vote share, (n, classes). Who asks only how strange a row is does not need it."""
        if not self.walks:
            return np.full(self.zeta.shape, 1 / self.zeta.shape[1])
        mean: Floats = np.mean([forest.class_votes(walk) for forest, walk in self.walks], axis=0)
        return mean


@dataclass(frozen=True, eq=False)
class ViewSet:
    """Views by name; forests, which also vote, and ferns apart from the others."""

    classes: Tensor  # (k,) the numbers that the head has for the classes
    views: Mapping[str, View]
    forests: Mapping[str, Forest]
    ferns: Mapping[str, Ferns]

    @classmethod
    def learn(cls, lesson: Lesson, names: Sequence[str], trees: Mapping[str, int]) -> ViewSet:
        """Learn the views of these names; `trees` says how many trees or ferns a view has."""
        return cls(
            torch.from_numpy(lesson.classes),
            {name: VIEWS[name].learn(lesson) for name in names if name in VIEWS},
            {name: FORESTS[name].learn(lesson, trees) for name in names if name in FORESTS},
            {name: FERNS[name].learn(lesson, trees[name]) for name in names if name in FERNS},
        )

    def with_forests(self, lesson: Lesson, trees: Mapping[str, int], ood: Tensor | None = None) -> ViewSet:
        """Return the views with forests grown anew, where they can also from rows known to be of no class."""
        forests = {name: FORESTS[name].learn(lesson, trees, ood) for name in self.forests}
        return replace(self, forests=forests)

    def regrown(self, lesson: Lesson, trees: Mapping[str, int], ood: Tensor | None = None) -> ViewSet:
        """Return the same with all that needs no network learned from more rows."""
        views = {name: VIEWS[name].learn(lesson) if view.of_columns else view for name, view in self.views.items()}
        ferns = {name: FERNS[name].learn(lesson, trees[name]) for name in self.ferns}
        return replace(self.with_forests(lesson, trees, ood), views=views, ferns=ferns)

    def filled_up(self, lesson: Lesson, trees: Mapping[str, int], ood: Tensor | None = None) -> ViewSet:
        """Return the same with as many trees in each forest as there shall be; those that are added have no ranges."""
        missing = {name: trees[name] - len(forest.trees.node_counts) for name, forest in self.forests.items()}
        more = replace(lesson, seed=lesson.seed + 1)  # or the same trees would grow again
        forests = {
            name: forest.followed_by(FORESTS[name].learn(more, {name: missing[name], "mixed-ranges": 0}, ood))
            for name, forest in self.forests.items()
            if missing[name] > 0
        }
        return replace(self, forests={**self.forests, **forests})

    @property
    def _groups(self) -> list[Forest | Ferns]:
        """What gives several views at once, in the order of their scores."""
        return [*self.forests.values(), *self.ferns.values()]

    @property
    def names(self) -> list[str]:
        """The names of all views, in the order of their scores."""
        return [*self.views, *(name for group in self._groups for name in group.units)]

    @property
    def units(self) -> list[float]:
        """The unit of every view."""
        own = [view.unit for view in self.views.values()]
        return [*own, *(unit for group in self._groups for unit in group.units.values())]

    @property
    def sources(self) -> list[str]:
        """What each view costs: views of one source cost hardly more than one of them."""
        own = [name if view.of_columns else NETWORKS for name, view in self.views.items()]
        groups: list[tuple[str, Forest | Ferns]] = [*self.forests.items(), *self.ferns.items()]
        return [*own, *(name for name, group in groups for _ in group.units)]

    def only(self, names: Sequence[str]) -> ViewSet:
        """Return some of the views, and what else their forests and ferns give, which costs nothing more."""
        return ViewSet(
            self.classes,
            {name: view for name, view in self.views.items() if name in names},
            {name: forest for name, forest in self.forests.items() if not forest.units.keys().isdisjoint(names)},
            {name: ferns for name, ferns in self.ferns.items() if not ferns.units.keys().isdisjoint(names)},
        )

    @property
    def names_of_networks(self) -> list[str]:
        """The names of the views that look at layers."""
        return [name for name, view in self.views.items() if not view.of_columns]

    @cached_property
    def without_networks(self) -> ViewSet:
        """Those of the views that look at columns alone."""
        return self.only([name for name, source in zip(self.names, self.sources, strict=True) if source != NETWORKS])

    def look_again(self, cohort: Cohort, values: Tensor, looks: Looks) -> Looks:
        """Look at rows of which another set of these views, with the same networks, has seen `looks`."""
        own = self.without_networks.look(cohort, values)
        strangeness = looks.strangeness.copy()
        strangeness[:, [source != NETWORKS for source in self.sources]] = own.strangeness
        return Looks(strangeness, own.walks, looks.find_zeta)

    def look(self, cohort: Cohort, values: Tensor) -> Looks:
        """Look at encoded rows (n, width)."""
        strangeness, find_zeta = self._networks_and_columns(cohort, values)
        walks = [(forest, forest.walk(values)) for forest in self.forests.values()]
        more = [forest.strangeness(walk) for forest, walk in walks]
        more += [ferns.strangeness(values) for ferns in self.ferns.values()]
        return Looks(np.column_stack([strangeness, *more]), walks, find_zeta)

    def _networks_and_columns(self, cohort: Cohort, values: Tensor) -> tuple[Floats, Callable[[], Floats]]:
        """What the views see that are neither forests nor ferns, (n, views), and how to come by zeta."""

        def zeta_alone() -> Floats:
            found: Floats = cohort.look(values, self._zeta).numpy()
            return found

        if not self.views:
            return np.empty((len(values), 0)), zeta_alone
        if NETWORKS not in self.sources:
            return cohort.look(values, self._scores).numpy(), zeta_alone
        n_views = len(self.views)
        both = cohort.look(values, lambda seen: torch.cat([self._scores(seen), self._zeta(seen)], dim=1)).numpy()
        return both[:, :n_views], lambda: both[:, n_views:]

    def _scores(self, seen: Seen) -> Tensor:
        scores = [view.scores(seen).amin(1, keepdim=True).double() for view in self.views.values()]
        return bounded(torch.cat(scores, dim=1))

    def _zeta(self, seen: Seen) -> Tensor:
        return bounded(of_classes(seen.description.zeta, self.classes).mean(0))

    # --- the model file ---

    def state(self) -> dict[str, Tensor]:
        """All that was learned, as "VIEW.NAME"."""
        parts: dict[str, Any] = {**self.views, **self.forests, **self.ferns}
        return {f"{name}.{key}": value for name, part in parts.items() for key, value in part.state().items()}

    @classmethod
    def from_state(cls, names: Sequence[str], tensors: dict[str, Tensor], n_classes: int) -> ViewSet:
        """Undo `state`, for a model that knows all its classes."""
        own = {
            name: {key.removeprefix(f"{name}."): value for key, value in tensors.items() if key.startswith(f"{name}.")}
            for name in names
        }
        return cls(
            torch.arange(n_classes),
            {name: VIEWS[name].from_state(own[name]) for name in names if name in VIEWS},
            {name: FORESTS[name].from_state(own[name], n_classes) for name in names if name in FORESTS},
            {name: FERNS[name].from_state(own[name], n_classes) for name in names if name in FERNS},
        )


def bounded(scores: Tensor) -> Tensor:
    """Absurd values may overflow on their way through the layers: nothing is stranger."""
    return torch.nan_to_num(scores, nan=ABSURD, posinf=ABSURD, neginf=-ABSURD)


def fitting_names(names: Sequence[str], *, width: int, n_classes: int) -> list[str]:
    """Those of the views that make sense for a table of this encoded width and number of classes."""
    too_wide = {"column-mahalanobis"} if width > WIDEST else set()
    needs_rivals = {"column-rivals", "drawn-in-rivals", "forest"} if n_classes < 2 else set()
    too_many = set(Ferns.units) if n_classes > MOST_CLASSES else set()
    return [name for name in names if name not in too_wide | needs_rivals | too_many]
