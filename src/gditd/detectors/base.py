"""The interface every detector has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from gditd.model_file import ModelFileError, Tensors, load, save_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from gditd.model_file.signing import PrivateKey, PublicKey

FloatArray = NDArray[np.floating[Any]]


class Detector(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A classifier of known classes that also says how strange a row is."""

    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]  # only where the training table had column names

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows X (n, features) and their classes y (n,)."""

    @abstractmethod
    def class_scores(self, X: Any) -> FloatArray:
        """Return a score per known class, shape (n, classes); higher = more of that class."""

    @abstractmethod
    def ood_score(self, X: Any) -> FloatArray:
        """Return how strange each row is, shape (n,); higher = more likely of no known class."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most likely known class of each row."""
        winners = self.class_scores(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[winners]
        return labels

    def predict_proba(self, X: Any) -> FloatArray:
        """Return a probability per known class, shape (n, classes)."""
        probabilities: FloatArray = softmax(self.class_scores(X), axis=1)
        return probabilities

    def decision_function(self, X: Any) -> FloatArray:
        """Return class scores (n, classes); with two classes their difference (n,), as scikit-learn has it."""
        scores = self.class_scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def save(self, path: str | PathLike[str], *, sign: PrivateKey | None = None) -> None:
        """Write the fitted detector to one file; :func:`gditd.load` reads it back.

        With `sign`, the PEM file of a private key, the file is signed: readers can then verify who made it.
        """
        check_is_fitted(self)
        save_model(self, path, key=sign)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        backbone: Callable[[int], nn.Module] | None = None,
        verify: PublicKey | None = None,
    ) -> Self:
        """Read a detector of this class back; see :func:`gditd.load`."""
        found = load(path, backbone=backbone, verify=verify)
        if not isinstance(found, cls):
            raise ModelFileError(f"{path} holds a {type(found).__name__}, not a {cls.__name__}: use gditd.load")
        return found

    @abstractmethod
    def _tensors(self) -> Tensors:
        """Return all that was learned, by name."""

    def _document(self) -> dict[str, Any]:
        """Return what a model file needs besides parameters and tensors, as plain JSON values."""
        return {}

    @abstractmethod
    def _restore(self, tensors: Tensors, document: dict[str, Any]) -> None:
        """Take back what `_tensors` and `_document` gave; parameters, classes and column names are set already."""

    def _try_out(self) -> None:
        """Score two made-up rows, so that a file whose parts do not fit together is found out when it is read."""
        self.ood_score(np.zeros((2, self.n_features_in_)))

    def _remember_columns(self, probe: Detector) -> None:
        """Take over the number of columns and their names, if they have any, from a checked copy."""
        self.n_features_in_ = probe.n_features_in_
        if hasattr(probe, "feature_names_in_"):
            self.feature_names_in_ = probe.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_


@dataclass(frozen=True)
class CheckedTable:
    """Training rows, their class numbers, the classes, and an estimator that knows the columns."""

    rows: FloatArray
    codes: NDArray[np.int64]
    classes: NDArray[Any]
    probe: Detector


class ArrayDetector(Detector):
    """A detector that takes plain numbers; a subclass learns in :meth:`_learn`."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from rows X (n, features) and their classes y (n,)."""
        table = self._checked(X, y)
        self._learn(table.rows, table.codes, len(table.classes))
        self._remember_table(table)
        return self

    def _checked(self, X: ArrayLike, y: ArrayLike) -> CheckedTable:
        """Check training rows and classes without a trace on the estimator."""
        probe = clone(self)
        rows, labels = validate_data(probe, X, y, dtype=[np.float64, np.float32], ensure_min_samples=2)
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        return CheckedTable(rows, codes, classes, probe)

    def _remember_table(self, table: CheckedTable) -> None:
        """Come last in a fit: one that is interrupted or fails leaves the estimator as it was."""
        self.classes_ = table.classes
        self._remember_columns(table.probe)

    @abstractmethod
    def _learn(self, X: FloatArray, codes: NDArray[np.int64], n_classes: int) -> None:
        """Learn from checked rows and class numbers 0 .. n_classes - 1."""

    def _check_rows(self, X: ArrayLike) -> FloatArray:
        """Check new rows against what was seen in fit."""
        check_is_fitted(self)
        rows: FloatArray = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return rows
