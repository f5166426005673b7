"""Peers beyond the paper: what a user would pick instead, each at its library's defaults or better.

Rows come encoded, (n, features) float32 on comparable scales, and labels as class numbers. Every detector of the
package fits :class:`ClassifyingPeer` as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest, RandomForestClassifier
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from gditd.bench.pyod_peers import PREFIX, PeerError, pyod_peer
from gditd.detectors.base import FloatArray

TREES = 300  # scikit-learn's default is 100; as many as the package's own extra-trees
NEIGHBOR = 5  # whose distance counts: the default of PyOD's KNN
CHUNK = 2048  # rows scored at once, so that a table of distances never has to fit into memory


@runtime_checkable
class Peer(Protocol):
    """What a bench run needs of any method."""

    def fit(self, X: FloatArray, y: NDArray[np.int64]) -> Self:
        """Learn from rows X (n, features) and their classes y (n,)."""

    def ood_score(self, X: FloatArray) -> FloatArray:
        """Return how strange each row is, shape (n,); higher = more likely of no known class."""


@runtime_checkable
class ClassifyingPeer(Peer, Protocol):
    """A method that also names a class; `isinstance(method, ClassifyingPeer)` tells which kind one is."""

    def predict(self, X: FloatArray) -> NDArray[Any]:
        """Return the most likely known class of each row."""

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return a probability per known class in ascending order, shape (n, classes)."""


class MaxProbability:
    """One minus the largest class probability of a scikit-learn classifier."""

    fitted_: Any

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: FloatArray, y: NDArray[np.int64]) -> Self:
        """Fit the classifier."""
        self.fitted_ = clone(self.classifier).fit(X, y)
        return self

    def predict(self, X: FloatArray) -> NDArray[Any]:
        """Return the most likely known class of each row."""
        labels: NDArray[Any] = self.fitted_.predict(X)
        return labels

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return the classifier's probabilities (n, classes)."""
        probabilities: FloatArray = self.fitted_.predict_proba(X)
        return probabilities

    def ood_score(self, X: FloatArray) -> FloatArray:
        """1 - max probability."""
        largest: FloatArray = self.predict_proba(X).max(axis=1)
        return 1 - largest


class Outliers:
    """A scikit-learn outlier detector on all known rows without their labels; it names no class."""

    fitted_: Any

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: FloatArray, y: NDArray[np.int64]) -> Self:
        """Fit the estimator; y is not looked at."""
        self.fitted_ = clone(self.estimator).fit(X)
        return self

    def ood_score(self, X: FloatArray) -> FloatArray:
        """Minus `score_samples`, which is higher the more usual a row is."""
        return -in_chunks(self.fitted_.score_samples, X)


class NearestRow:
    """Distance to the k-th nearest known row among the features themselves; it names no class.

    k is at most the number of known rows.
    """

    fitted_: NearestNeighbors

    def __init__(self, n_neighbors: int = NEIGHBOR) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, X: FloatArray, y: NDArray[np.int64]) -> Self:
        """Index the rows; y is not looked at."""
        self.fitted_ = NearestNeighbors(n_neighbors=min(self.n_neighbors, len(X)), n_jobs=1).fit(X)
        return self

    def ood_score(self, X: FloatArray) -> FloatArray:
        """Euclidean distance to the k-th nearest known row."""
        return in_chunks(lambda rows: self.fitted_.kneighbors(rows)[0][:, -1], X)


def in_chunks(score: Callable[[FloatArray], FloatArray], X: FloatArray) -> FloatArray:
    """Score rows chunk by chunk; for methods that score each row by itself."""
    chunks = [X[start : start + CHUNK] for start in range(0, max(len(X), 1), CHUNK)]
    return np.concatenate([score(chunk) for chunk in chunks])


def random_forest(seed: int) -> Peer:
    """Maximum probability of a random forest."""
    return MaxProbability(RandomForestClassifier(TREES, n_jobs=1, random_state=seed))


def hist_gradient_boosting(seed: int) -> Peer:
    """Maximum probability of gradient boosted trees."""
    return MaxProbability(HistGradientBoostingClassifier(random_state=seed))


def isolation_forest(seed: int) -> Peer:
    """How few random cuts isolate a row."""
    return Outliers(IsolationForest(n_estimators=TREES, n_jobs=1, random_state=seed))


def local_outlier_factor(seed: int) -> Peer:
    """How much sparser a row's neighbourhood is than its neighbours'; nothing in it is random."""
    return Outliers(LocalOutlierFactor(novelty=True, n_jobs=1))


def nearest_row(seed: int) -> Peer:
    """Distance to the fifth nearest row; nothing in it is random."""
    return NearestRow()


def ecod(seed: int) -> Peer:
    """Tail probabilities of every column, by PyOD."""
    return pyod_peer("ECOD", seed)


PEERS: Mapping[str, Callable[[int], Peer]] = {
    "random-forest": random_forest,
    "hist-gradient-boosting": hist_gradient_boosting,
    "isolation-forest": isolation_forest,
    "lof": local_outlier_factor,
    "knn": nearest_row,
    "ecod": ecod,
}


def peer(name: str, *, seed: int) -> Peer:
    """Make an unfitted peer: one of `PEERS`, or any detector of PyOD as "pyod:NAME", such as "pyod:HBOS".

    Raises
    ------
    PeerError
        If there is no such peer, or a package that it needs is not installed.
    """
    if name.startswith(PREFIX):
        return pyod_peer(name.removeprefix(PREFIX), seed)
    if name not in PEERS:
        raise PeerError(f"unknown peer '{name}'; known are {', '.join(PEERS)} and {PREFIX}NAME, such as {PREFIX}HBOS")
    return PEERS[name](seed)
