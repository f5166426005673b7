"""A map of what a fitted classifier knows: a circle for each class, and a place for any row. Made from the model alone.

A row lies inside a circle if and only if its verdict is that class, and outside all circles if it is called OOD.
Inside, it lies the further out the smaller its p-value, such that a class's own new rows fill its circle evenly.
Outside, the distance follows the score and is compressed, so that absurd rows stay on the map. The direction shows in
what a row differs from the usual rows of its class: one that leans to another class lies on that side.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gditd.calibration import OOD

if TYPE_CHECKING:
    from gditd.classifier import GDITDClassifier
    from gditd.fitted import FittedModel

Floats = NDArray[np.float64]

GAP = 0.6  # between circles at least, in usual radii: rows of no class need room
SMALLEST, LARGEST = 0.7, 1.4  # radii of circles, the usual one being 1
INSIDE, OUTSIDE = 0.98, 1.03  # how near to the border a row may lie, in radii
MADE_UP_ROWS = 512  # show where the rows of a class lie, and how they scatter
ROUNDS = 500  # of moving circles apart, fewer where classes are many
MOST_MOVES = 20_000_000


@dataclass(frozen=True)
class Circle:
    """A class on the map."""

    label: str
    x: float
    y: float
    radius: float


class EmbeddingMap:
    """Circles of the known classes, and places of rows among them.

    The members' embeddings side by side are one space, in which squared distances are sums over members. A linear map
    takes it to the plane, and the classes' centres there to those of their circles.
    """

    def __init__(self, model: GDITDClassifier, *, alpha: float | None = None) -> None:
        self._model = model
        self._alpha = model.alpha if alpha is None else alpha
        self._by_sign = model._settings().rule == "sign"
        self._limits = class_limits(model, self._alpha)
        reach = positive(highest_scores(model.model_) - self._limits)
        self._steps = reach if self._by_sign else positive(class_limits(model, 0.5) - self._limits)
        self._radii = circle_radii(model.model_, reach)
        centers, rows = joint_centers(model.model_), made_up_rows(model.model_)
        self._places = lay_out(centers, self._radii)
        self._projection = plane(centers, rows, self._places)
        self._feet = np.median(rows @ self._projection, axis=1)

    @classmethod
    def of(cls, model: GDITDClassifier) -> EmbeddingMap:
        """Draw the map of a fitted classifier at its own alpha."""
        return cls(model)

    @property
    def circles(self) -> list[Circle]:
        """A circle for each class, in the order of `classes_`."""
        places = zip(self._model.classes_.tolist(), self._places.tolist(), self._radii.tolist(), strict=True)
        return [Circle(str(label), x, y, radius) for label, (x, y), radius in places]

    def place(self, X: Any) -> Floats:
        """Where the rows of a table lie, (n, 2)."""
        encoded = self._model._encode(X)
        judged = self._model._judge(encoded, self._alpha)
        flagged = judged.winners == OOD
        nearest = np.where(flagged, judged.known_class, judged.winners)
        own = np.arange(len(nearest)), nearest
        excess = (self._limits[nearest] - judged.scores[own].astype(np.float64)) / self._steps[nearest]
        # Within the border: p-values from 1 to alpha, or by the sign rule what the score lost since the centre.
        depth = 1 + excess if self._by_sign else (1 - judged.p[own]) / (1 - self._alpha)
        away = np.where(flagged, beyond_the_border(excess), np.minimum(np.sqrt(np.clip(depth, 0.0, None)), INSIDE))
        offsets = self._projected(encoded.values) - self._feet[nearest]
        places = self._places[nearest] + (away * self._radii[nearest])[:, None] * directions(offsets)
        places[flagged] = self._out_of_circles(places[flagged])
        return places

    def _projected(self, values: Tensor) -> Floats:
        """Encoded rows (n, width) as points of the plane, (n, 2)."""
        projection = torch.from_numpy(self._projection)
        points = self._model.model_.cohort.apply(values, lambda embedding, _: side_by_side(embedding) @ projection)
        return np.asarray(points.numpy(), dtype=np.float64)

    def _out_of_circles(self, points: Floats) -> Floats:
        """Move points that fell into a circle to the free room around it; circles lie apart, so one move is enough."""
        from_centers = points[:, None] - self._places
        depths = np.linalg.norm(from_centers, axis=2) / self._radii
        circle = depths.argmin(axis=1)
        depth = depths[np.arange(len(points)), circle]
        beyond = self._radii[circle] + GAP * (0.5 - 0.4 * np.minimum(depth, 1.0))
        moved = self._places[circle] + beyond[:, None] * directions(from_centers[np.arange(len(points)), circle])
        return np.where((depth < OUTSIDE)[:, None], moved, points)


def class_limits(model: GDITDClassifier, alpha: float) -> Floats:
    """The score (k,) below which each class rejects a row: zero by the sign rule, else where its p-value is alpha.

    With cross calibration, where every fold has a limit of its own, it is that of all folds' scores taken together.
    A class with too few rows to reject any has the lowest score among the rows that calibrate it.
    """
    calibrator = model.model_.calibrator
    if calibrator is None or model._settings().rule == "sign":
        return np.zeros(len(model.classes_))
    scores = calibrator.state()[1]["scores"]
    ends = np.cumsum(calibrator.fold_counts)
    pieces = [scores[start:end] for start, end in pairwise([0, *ends])]
    n_groups = calibrator.fold_counts.shape[1]
    limits = [group_limit(np.concatenate(pieces[group::n_groups]), alpha) for group in range(n_groups)]
    return np.array(limits)[calibrator.groups]


def group_limit(scores: Floats, alpha: float) -> float:
    """The lowest score with a p-value of at least alpha, by minus the scores of n rows; 0 without any."""
    if not len(scores):
        return 0.0
    as_strange = max(1, int(np.ceil(alpha * (len(scores) + 1) - 1 - 1e-9)))  # rows that must be at least as strange
    return -float(np.sort(scores)[-as_strange])


def highest_scores(model: FittedModel) -> Floats:
    """The score of each class (k,) at its very centre: zeta averaged over members, or 0 where nothing is strange."""
    if model.fusion is not None:
        return np.zeros(model.cohort.head["centers"].shape[1])
    log_radii = model.cohort.head["log_radii"].double().clamp_min(0)
    width = model.cohort.head["centers"].shape[-1]
    summits: Floats = (log_radii.exp() - width * log_radii).mean(dim=0).cpu().numpy()
    return summits


def circle_radii(model: FittedModel, reach: Floats) -> Floats:
    """How far each class reaches in the embedding, as a radius (k,) around 1."""
    variances = (2 * model.cohort.head["log_radii"].double().clamp_min(0)).exp().mean(dim=0).cpu().numpy()
    extent = np.sqrt(variances * reach)
    radii: Floats = np.clip(extent / np.median(extent), SMALLEST, LARGEST)
    return radii


def side_by_side(stacked: Tensor) -> Tensor:
    """Join the members' spaces: (members, n, d) -> (n, members * d)."""
    return stacked.cpu().double().transpose(0, 1).flatten(1)


def joint_centers(model: FittedModel) -> Floats:
    """The classes' centres in the joined spaces, (k, members * d), around their mean."""
    centers = side_by_side(model.cohort.head["centers"]).numpy()
    around_mean: Floats = centers - centers.mean(axis=0)
    return around_mean


def lay_out(centers: Floats, radii: Floats) -> Floats:
    """Places of circles (k, 2): the two main directions of the centres, moved apart until the gaps are there."""
    needed = radii[:, None] + radii + GAP
    np.fill_diagonal(needed, 0.0)
    places = principal_places(centers)
    if len(places) == 1:
        return places
    distances = pair_distances(places) + np.diag(np.full(len(places), np.inf))
    usual = float(np.median(distances.min(axis=1)))
    places *= float(np.median(needed.max(axis=1))) / usual if usual > 0 else 1.0
    places += 1e-3 * on_a_ring(len(places))  # so that no two are in the same place, and have a way to go
    for _ in range(min(ROUNDS, MOST_MOVES // len(places) ** 2)):
        missing = needed - pair_distances(places)
        if (missing <= 1e-9).all():
            break
        away = directions(places[:, None] - places)
        places = places + (np.clip(missing, 0.0, None)[..., None] * away).sum(axis=1) / 2
    return exactly_apart(places - places.mean(axis=0), needed)


def principal_places(centers: Floats) -> Floats:
    """Centres (k, width) along their two main directions, (k, 2); missing directions are zero."""
    left, sizes, _ = np.linalg.svd(centers, full_matrices=False)
    places = np.zeros((len(centers), 2))
    found = min(2, len(sizes))
    places[:, :found] = left[:, :found] * sizes[:found]
    # The sign of a direction is a matter of rounding: make the largest part positive.
    largest = np.abs(places).argmax(axis=0)
    places *= np.where(places[largest, [0, 1]] < 0, -1.0, 1.0)
    return places


def exactly_apart(places: Floats, needed: Floats) -> Floats:
    """Stretch the whole as much as the pair that is still too close asks for."""
    found = pair_distances(places)
    np.fill_diagonal(found, 1.0)
    return places * max(1.0, float((needed / found).max()))


def pair_distances(places: Floats) -> Floats:
    """Distances between all places, (k, k)."""
    distances: Floats = np.linalg.norm(places[:, None] - places, axis=2)
    return distances


def on_a_ring(count: int) -> Floats:
    """As many points on a circle of radius 1, (count, 2)."""
    angles = 2 * np.pi * np.arange(count) / count
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def plane(centers: Floats, rows: Floats, places: Floats) -> Floats:
    """The linear map (width, 2) from the joined spaces that takes the centres to their places.

    One class spans nothing and two a line: the directions that lack are those in which the rows of a class (classes,
    rows, width) scatter most.
    """
    projection: Floats = np.linalg.pinv(centers, rcond=1e-6) @ places
    lacking = [axis for axis in range(2) if len(centers) <= axis + 1 or not projection[:, axis].any()]
    if lacking:
        scale = float(np.linalg.norm(projection, axis=0).max()) or 1.0
        spanned = np.linalg.svd(projection, full_matrices=False)[0][:, : 2 - len(lacking)]
        scatter = (rows - rows.mean(axis=1, keepdims=True)).reshape(-1, rows.shape[2])
        main = np.linalg.svd(scatter - scatter @ spanned @ spanned.T, full_matrices=False)[2]
        for axis, direction in zip(lacking, main, strict=False):
            projection[:, axis] = scale * direction * np.sign(direction[np.abs(direction).argmax()])
    return projection


def made_up_rows(model: FittedModel) -> Floats:
    """Rows as each class may have them, embedded (classes, rows, members * d): a model has no real ones.

    They have the class's means and variances, and the correlations within classes where those are known.
    """
    shapes = model.explainer.shapes
    n_classes, width = shapes.means.shape
    each = max(8, MADE_UP_ROWS // n_classes)
    noise = torch.from_numpy(np.random.default_rng(0).standard_normal((n_classes, each, width)))
    if shapes.precision is not None:
        sizes, axes = torch.linalg.eigh(shapes.precision.double())
        mixing = axes * sizes.clamp_min(1e-6).rsqrt()
        noise = noise @ (mixing / mixing.norm(dim=1, keepdim=True)).T
    rows = (shapes.means[:, None] + shapes.variances[:, None].sqrt() * noise).float()
    embedded = model.cohort.apply(rows.flatten(0, 1), lambda embedding, _: side_by_side(embedding))
    return np.asarray(embedded.numpy(), dtype=np.float64).reshape(n_classes, each, -1)


def beyond_the_border(excess: Floats) -> Floats:
    """How far out in radii rows lie that are so many steps stranger than the border: compressed twice."""
    away: Floats = np.maximum(1 + np.log1p(np.log1p(np.clip(excess, 0.0, None))), OUTSIDE)
    return away


def positive(widths: Floats) -> Floats:
    """Widths to divide by: 1 where there is none, as for a class that no row can be inside of."""
    return np.where(widths > 0, widths, 1.0)


def directions(offsets: Floats) -> Floats:
    """Offsets (..., 2) at length 1; what has no direction points to the right."""
    finite = np.nan_to_num(offsets, nan=0.0, posinf=1e150, neginf=-1e150)
    lengths = np.linalg.norm(finite, axis=-1, keepdims=True)
    return np.where(lengths > 0, finite / np.where(lengths > 0, lengths, 1.0), [1.0, 0.0])
