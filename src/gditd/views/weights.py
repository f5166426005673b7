"""How much each view counts, learned from classes left out: the views that catch them earn weight.

Left-out classes are few, so the weights start from ones that did well on average over many tables, and the mean is
taken over all that might serve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, softmax

from gditd.views.ferns import Ferns

Floats = NDArray[np.float64]

PRIOR = {
    "zeta": 0.3,
    "hidden-prototypes": 0.6,
    "hidden-mahalanobis": 0.7,
    "embedding-mahalanobis": 0.8,
    "column-mahalanobis": 0.7,
    "column-rivals": 1.5,
    "drawn-in-rivals": 1.5,
    "mixed-forest": 2.5,
    "mixed-ranges": 1.5,
    "forest": 2.0,
    "fern-likelihood": 0.8,
    "fern-surprise": 0.8,
}
MIXED_FOREST_NEEDS = 100  # rows: from so many it counts half as much as from very many
# The same, and how much more ferns count, where the classes are too few to leave one out. Trees that have but two to
# tell apart find new rows of the rarer one strange, and little else, until they have seen many.
FEW_CLASSES = 2
MIXED_FOREST_OF_FEW_NEEDS = 1_000
FERNS_OF_FEW = 2.0
FOREST_NEEDS = 1_000  # rows, likewise
RIVALS_NEED = 300  # rows, likewise: prototypes of a handful of rows tell little of what lies between classes
COLUMNS_OF_FEW_ROWS = 2.0  # by how much more the columns' own distance counts where there are hardly any rows
FEW_ROWS = 200
FERNS_AMONG = 200  # encoded columns: among so many they count half as much as among few, for they ask beside the point

N_CANDIDATES = 1_000
SPREAD = 2.0  # of candidates around the prior, on the scale of logarithms: wide enough to do without a view
TRUST = 20.0  # how many times likelier a candidate is, as a logarithm, for 1 more in the mean logit of AUROC
SMALLEST_SHARE = 0.04  # views below it are dropped: they cost time, and on average the others do as well without them
SMALLEST_SHARE_OF_SOURCE = 0.1  # likewise where time is short: of all views of the networks, or of a forest


@dataclass(frozen=True, eq=False)
class Trial:
    """A class left out: the views' scaled scores (n, views) of known rows, and of the class's rows."""

    known: Floats
    strange: Floats

    def aurocs(self, weights: Floats) -> Floats:
        """How well each of the weighted sums (m, views) tells the class from the known ones, (m,)."""
        pairs = zip(weights @ self.known.T, weights @ self.strange.T, strict=True)
        return np.array([auroc(known, strange) for known, strange in pairs])


def auroc(known: Floats, strange: Floats) -> float:
    """The chance that a strange row scores higher than a known one; a tie counts half.

    Ten times faster than scikit-learn's on a few hundred rows, and learning weights asks for thousands of them. Sorted,
    the strange ones find their places twice as fast.
    """
    return float(ranks_among(known, np.sort(strange)).mean())


def ranks_among(known: Floats, strange: Floats) -> Floats:
    """The share of known scores below each strange one, (n,); a tie counts half."""
    ordered = np.sort(known)
    below = np.searchsorted(ordered, strange, side="left") + np.searchsorted(ordered, strange, side="right")
    shares: Floats = below / (2 * len(known))
    return shares


def prior_weights(names: Sequence[str], *, n_rows: int, width: int, n_classes: int, even: float = 1.0) -> Floats:
    """What views count where nothing is known of a table but the numbers of its rows, columns and classes.

    `even` is how evenly questions cut its rows, see `evenness`. The weights sum to 1.
    """
    few = n_classes <= FEW_CLASSES
    weights = dict(PRIOR)
    weights["mixed-forest"] *= n_rows / (n_rows + (MIXED_FOREST_OF_FEW_NEEDS if few else MIXED_FOREST_NEEDS))
    if "column-mahalanobis" in names:  # of few rows the columns' distance tells more; too wide a table has none
        weights["forest"] *= n_rows / (n_rows + FOREST_NEEDS)
    for name in ("column-rivals", "drawn-in-rivals"):
        weights[name] *= n_rows / (n_rows + RIVALS_NEED)
    weights["column-mahalanobis"] += COLUMNS_OF_FEW_ROWS * FEW_ROWS / (n_rows + FEW_ROWS)
    weights["mixed-ranges"] *= even
    for name in Ferns.units:
        weights[name] *= (FERNS_OF_FEW if few else 1.0) * FERNS_AMONG / (width + FERNS_AMONG) * even
    return normalised(np.array([weights[name] for name in names]))


def evenness(rows: NDArray[np.float32], owners: NDArray[np.int64], numbers: NDArray[np.int64]) -> float:
    """How evenly one question cuts the rows (n, width), on average over a table's columns: 1 where all are numbers.

    A category is encoded as many columns, one for each value. Asked for one that few rows have, nearly all rows say no,
    those of an unseen class most of all: to ferns and ranges they look more ordinary than known rows do. A question
    that a share p of the rows says yes to counts 4 p (1 - p), so 1 if that is half of them; one that all of them answer
    alike is never asked. `owners` (width,) says which of the table's columns each encoded one is of, `numbers` which
    encoded ones hold a number, whose rows can be cut anywhere.
    """
    yes = (rows != 0).mean(axis=0)
    even = 4 * yes * (1 - yes)
    even[np.isin(owners, owners[numbers])] = 1.0
    asked = even > 0
    n_asked = np.bincount(owners[asked])
    sums = np.bincount(owners[asked], weights=even[asked])
    return float((sums[n_asked > 0] / n_asked[n_asked > 0]).mean()) if len(n_asked) else 1.0


@dataclass(frozen=True, eq=False)
class Candidates:
    """Weights (candidates, views) that might serve, drawn around a prior, which is the first of them.

    Left-out classes are few. The one candidate that does best on them does so partly by chance, so all have their say,
    each as much as it did well.
    """

    weights: Floats

    @classmethod
    def around(cls, prior: Floats) -> Candidates:
        """Draw them; the same for the same number of views."""
        moves = np.random.default_rng(0).normal(scale=SPREAD, size=(N_CANDIDATES, len(prior)))
        moves[0] = 0.0
        return cls(np.stack([normalised(prior * np.exp(own)) for own in moves]))

    def mean(self, found: Sequence[Floats]) -> Floats:
        """Weights (views,) that sum to 1, from the AUROC (candidates,) in each trial; without any, the prior's."""
        if not len(found):
            prior: Floats = self.weights[0]
            return prior
        return normalised(softmax(TRUST * logit(np.clip(found, 0.002, 0.998)).mean(axis=0)) @ self.weights)


def normalised(weights: Floats) -> Floats:
    """The same weights with sum 1."""
    shares: Floats = weights / weights.sum()
    return shares
