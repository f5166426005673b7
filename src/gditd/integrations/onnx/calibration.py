"""P-values: how many calibration scores are at least as strange, found by a search tree for each fold and class.

Comparing every row with every calibration score would take their product in memory. A balanced tree finds a row's place
in a dozen steps, and ai.onnx.ml has fast ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gditd.calibration import ClassCalibrator
from gditd.integrations.onnx.builder import GraphBuilder, Value
from gditd.integrations.onnx.operations import as_double
from gditd.integrations.onnx.trees import Trees, sums_over_trees
from gditd.views.trees import rounded_down


def p_values(graph: GraphBuilder, strangeness: Value, calibrator: ClassCalibrator) -> Value:
    """P-values (n, classes) float64 from strangeness (n, folds * classes) float32."""
    trees = search_trees(calibrator)
    counts = as_double(graph, sums_over_trees(graph, strangeness, trees, calibrator.n_classes))
    return graph("Div", graph("Add", counts, np.float64(1)), calibrator.counts[None] + np.float64(1))


def search_trees(calibrator: ClassCalibrator) -> Trees:
    """One tree for each fold and class; feature f * classes + c is the score of class c by fold f."""
    k = calibrator.n_classes
    grown = [
        search_tree(known, feature=f * k + c, target=c, number=f * k + c)
        for (f, c), known in known_scores(calibrator).items()
    ]
    return Trees(**{name: np.concatenate([getattr(tree, name) for tree in grown]) for name in Trees.__annotations__})


def known_scores(calibrator: ClassCalibrator) -> dict[tuple[int, int], NDArray[np.float64]]:
    """The ascending calibration scores of each fold and class."""
    scores = calibrator.state()[1]["scores"]
    counts = calibrator.fold_counts
    ends = np.cumsum(counts).reshape(counts.shape)
    found = {}
    for f, c in np.ndindex(calibrator.n_folds, calibrator.n_classes):
        g = calibrator.groups[c]
        found[f, c] = scores[ends[f, g] - counts[f, g] : ends[f, g]]
    return found


def search_tree(known: NDArray[np.float64], *, feature: int, target: int, number: int) -> Trees:
    """A balanced tree whose leaves say how many of the known scores are at least a row's own."""
    limits, first = np.unique(rounded_down(known), return_index=True)
    # Leaf i holds scores above limit i - 1 and up to limit i; the last, above all limits, counts none.
    counts = np.append(len(known) - first, 0)
    inner = len(limits)
    left: NDArray[np.int64] = np.full(2 * inner + 1, -1)
    right, leaf_of = left.copy(), left.copy()
    threshold = np.zeros(2 * inner + 1, dtype=np.float32)
    spans = [(0, inner)]  # of leaves, for each node in turn
    for node in range(2 * inner + 1):
        low, high = spans[node]
        if low == high:
            leaf_of[node] = low
            continue
        middle = (low + high) // 2
        threshold[node] = limits[middle]
        left[node], right[node] = len(spans), len(spans) + 1
        spans += [(low, middle), (middle + 1, high)]
    leaves = np.flatnonzero(leaf_of >= 0)
    return Trees(
        tree=np.full(len(left), number),
        node=np.arange(len(left)),
        left=left,
        right=right,
        feature=np.full(len(left), feature),
        threshold=threshold,
        leaf_tree=np.full(len(leaves), number),
        leaf_node=leaves,
        leaf_target=np.full(len(leaves), target),
        leaf_value=counts[leaf_of[leaves]].astype(np.float32),
    )
