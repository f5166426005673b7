"""All views of one cohort, and what they see of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from gditd.views.rivals import ColumnRivals
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
}
FORESTS: Mapping[str, type[Forest]] = {"mixed-forest": MixedForest, "forest": Forest}  # some give several views
FERNS: Mapping[str, type[Ferns]] = {"fern-likelihood": Ferns}

ABSURD = 1e30
WIDEST = 256  # encoded columns; beyond, the distance among them costs more than all networks
# Beyond, a share for each class would fill the memory: in every cell of every fern, and while it grows, in every leaf
# of the forest that only names classes.
MOST_CLASSES = 100


@dataclass(frozen=True, eq=False)
class Looks:
    """What views see of n rows: strangeness (n, views), zeta (n, classes), and what the rows met in each forest."""

    strangeness: Floats
    zeta: Floats
    walks: Sequence[tuple[Forest, Walk]]

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

    def only(self, names: Sequence[str]) -> ViewSet:
        """Return some of the views, and what else their forests and ferns give, which costs nothing more."""
        return ViewSet(
            self.classes,
            {name: view for name, view in self.views.items() if name in names},
            {name: forest for name, forest in self.forests.items() if not forest.units.keys().isdisjoint(names)},
            {name: ferns for name, ferns in self.ferns.items() if not ferns.units.keys().isdisjoint(names)},
        )

    def look(self, cohort: Cohort, values: Tensor) -> Looks:
        """Look at encoded rows (n, width)."""
        n_views = len(self.views)
        seen = cohort.look(values, self._summary).numpy()
        walks = [(forest, forest.walk(values)) for forest in self.forests.values()]
        strangeness = [forest.strangeness(walk) for forest, walk in walks]
        strangeness += [ferns.strangeness(values) for ferns in self.ferns.values()]
        return Looks(np.column_stack([seen[:, :n_views], *strangeness]), seen[:, n_views:], walks)

    def _summary(self, seen: Seen) -> Tensor:
        zeta = of_classes(seen.description.zeta, self.classes).mean(0)
        scores = [view.scores(seen).amin(1, keepdim=True).to(zeta) for view in self.views.values()]
        # Absurd values may overflow on their way through the layers: nothing is stranger.
        return torch.nan_to_num(torch.cat([*scores, zeta], dim=1), nan=ABSURD, posinf=ABSURD, neginf=-ABSURD)

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


def fitting_names(names: Sequence[str], *, width: int, n_classes: int) -> list[str]:
    """Those of the views that make sense for a table of this encoded width and number of classes."""
    too_wide = {"column-mahalanobis"} if width > WIDEST else set()
    needs_rivals = {"column-rivals", "forest"} if n_classes < 2 else set()
    too_many = set(Ferns.units) if n_classes > MOST_CLASSES else set()
    return [name for name in names if name not in too_wide | needs_rivals | too_many]
