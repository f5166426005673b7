"""Maximum probability of a forest of extremely randomised trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.tree import ExtraTreeClassifier
from sklearn.tree._tree import Tree

from gditd.detectors.base import ArrayDetector, FloatArray
from gditd.model_file import ModelFileError, Tensors

NODE_FIELDS: dict[str, type[np.generic]] = {
    "left_child": np.int64,
    "right_child": np.int64,
    "feature": np.int64,
    "threshold": np.float64,
    "impurity": np.float64,
    "n_node_samples": np.int64,
    "weighted_n_node_samples": np.float64,
    "missing_go_to_left": np.uint8,
}


class ExtraTrees(ArrayDetector):
    """One minus the largest class probability of scikit-learn's ExtraTreesClassifier.

    Parameters
    ----------
    n_estimators : trees in the forest.
    n_jobs : processes used, as in scikit-learn.
    random_state : int, RandomState or None.
    """

    forest_: ExtraTreesClassifier

    def __init__(
        self,
        *,
        n_estimators: int = 300,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_jobs = n_jobs
        self.random_state = random_state

    def class_scores(self, X: ArrayLike) -> FloatArray:
        """Class probabilities of the forest."""
        rows = self._check_rows(X)
        probabilities: FloatArray = self.forest_.predict_proba(rows)
        return probabilities

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Class probabilities of the forest."""
        return self.class_scores(X)

    def ood_score(self, X: ArrayLike) -> FloatArray:
        """1 - max probability."""
        largest: FloatArray = self.class_scores(X).max(axis=1)
        return 1 - largest

    def _check_rows(self, X: ArrayLike) -> FloatArray:
        # Trees compare in float32: a larger value is as far right as the largest one.
        limit = np.finfo(np.float32).max
        return np.clip(super()._check_rows(X), -limit, limit)

    def _learn(self, X: FloatArray, codes: NDArray[np.int64], n_classes: int) -> None:
        self.forest_ = self._forest().fit(X, codes)

    def _forest(self) -> ExtraTreesClassifier:
        return ExtraTreesClassifier(n_estimators=self.n_estimators, n_jobs=self.n_jobs, random_state=self.random_state)

    def _tensors(self) -> Tensors:
        trees = [estimator.tree_.__getstate__() for estimator in self.forest_.estimators_]
        nodes = np.concatenate([tree["nodes"] for tree in trees])
        tensors: Tensors = {name: nodes[name].astype(kind) for name, kind in NODE_FIELDS.items()}
        tensors["values"] = np.concatenate([tree["values"] for tree in trees])
        tensors["node_counts"] = np.array([tree["node_count"] for tree in trees], dtype=np.int64)
        tensors["depths"] = np.array([tree["max_depth"] for tree in trees], dtype=np.int64)
        return tensors

    def _restore(self, tensors: Tensors, document: dict[str, Any]) -> None:
        arrays = {name: np.asarray(value) for name, value in tensors.items()}
        n_classes = len(self.classes_)
        ends = np.cumsum(arrays["node_counts"])
        forest = self._forest()
        forest.estimators_ = []
        for start, end, depth in zip(ends - arrays["node_counts"], ends, arrays["depths"], strict=True):
            nodes = {name: arrays[name][start:end] for name in NODE_FIELDS}
            tree = restored_tree(nodes, arrays["values"][start:end], int(depth), self.n_features_in_, n_classes)
            forest.estimators_.append(fitted_estimator(tree, n_classes, self.n_features_in_))
        forest.classes_ = np.arange(n_classes)
        forest.n_classes_ = n_classes
        forest.n_outputs_ = 1
        forest.n_features_in_ = self.n_features_in_
        self.forest_ = forest


def restored_tree(
    nodes: dict[str, NDArray[Any]], values: NDArray[np.float64], depth: int, n_features: int, n_classes: int
) -> Tree:
    """Build scikit-learn's tree from plain arrays, after checking that walking it stays inside them."""
    # In their final types before the check: 1.5 lies behind node 1, but as a whole number it is node 1 itself.
    nodes = {name: in_type(nodes[name], kind) for name, kind in NODE_FIELDS.items()}
    refuse_unsafe_nodes(nodes, values, n_features, n_classes)
    tree = Tree(n_features, np.array([n_classes], dtype=np.intp), 1)
    layout = tree.__getstate__()["nodes"].dtype
    packed = np.zeros(len(values), dtype=layout)
    for name in NODE_FIELDS:
        packed[name] = nodes[name]
    tree.__setstate__({"max_depth": depth, "node_count": len(values), "nodes": packed, "values": values.copy()})
    return tree


def in_type(column: NDArray[Any], kind: type[np.generic]) -> NDArray[Any]:
    """Convert a column of nodes; ModelFileError where that would lose anything."""
    converted = column.astype(kind)
    if not np.array_equal(converted, column, equal_nan=True):
        raise ModelFileError("a tree in it is damaged")
    return converted


def refuse_unsafe_nodes(
    nodes: dict[str, NDArray[Any]], values: NDArray[np.float64], n_features: int, n_classes: int
) -> None:
    """Refuse nodes that point outside the tree or upwards: the compiled walk does not check."""
    n_nodes = len(values)
    number = np.arange(n_nodes)
    left, right, feature = nodes["left_child"], nodes["right_child"], nodes["feature"]
    leaf = left == -1
    inner = ~leaf
    children_fit = ((left > number) & (left < n_nodes) & (right > number) & (right < n_nodes))[inner]
    features_fit = ((feature >= 0) & (feature < n_features))[inner]
    sizes_fit = n_nodes > 0 and all(len(column) == n_nodes for column in nodes.values())
    if not (sizes_fit and values.shape[1:] == (1, n_classes) and children_fit.all() and features_fit.all()):
        raise ModelFileError("a tree in it is damaged")


def fitted_estimator(tree: Tree, n_classes: int, n_features: int) -> ExtraTreeClassifier:
    """Wrap a tree the way scikit-learn's forest expects it."""
    estimator = ExtraTreeClassifier()
    estimator.tree_ = tree
    estimator.classes_ = np.arange(n_classes)
    estimator.n_classes_ = n_classes
    estimator.n_outputs_ = 1
    estimator.n_features_in_ = n_features
    return estimator
