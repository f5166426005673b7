"""The interface every detector has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from gditd.model_file import Tensors, save_model

FloatArray = NDArray[np.floating[Any]]


class Detector(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A classifier of known classes that also says how strange a row is.

    A subclass learns in :meth:`_learn`, scores the known classes in :meth:`class_scores`, scores strangeness in
    :meth:`ood_score`, and lists what it learned in :meth:`_tensors` and takes it back in :meth:`_restore`.
    """

    classes_: NDArray[Any]
    n_features_in_: int

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from rows X (n, features) and their classes y (n,)."""
        rows, labels = validate_data(self, X, y, dtype=[np.float64, np.float32], ensure_min_samples=2)
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        self._learn(rows, codes, len(classes))
        self.classes_ = classes
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most likely known class of each row."""
        winners = self.class_scores(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[winners]
        return labels

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return a probability per known class, shape (n, classes)."""
        probabilities: FloatArray = softmax(self.class_scores(X), axis=1)
        return probabilities

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return class scores (n, classes); with two classes their difference (n,), as scikit-learn has it."""
        scores = self.class_scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @abstractmethod
    def class_scores(self, X: ArrayLike) -> FloatArray:
        """Return a score per known class, shape (n, classes); higher = more of that class."""

    @abstractmethod
    def ood_score(self, X: ArrayLike) -> FloatArray:
        """Return how strange each row is, shape (n,); higher = more likely of no known class."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted detector to one file; :func:`gditd.load` reads it back."""
        check_is_fitted(self)
        save_model(self, path)

    def _check_rows(self, X: ArrayLike) -> FloatArray:
        """Check new rows against what was seen in fit."""
        check_is_fitted(self)
        rows: FloatArray = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return rows

    @abstractmethod
    def _learn(self, X: FloatArray, codes: NDArray[np.int64], n_classes: int) -> None:
        """Learn from checked rows and class numbers 0 .. n_classes - 1."""

    @abstractmethod
    def _tensors(self) -> Tensors:
        """Return all that was learned, by name."""

    @abstractmethod
    def _restore(self, tensors: Tensors) -> None:
        """Take back what :meth:`_tensors` gave; parameters, classes and feature names are set already."""
