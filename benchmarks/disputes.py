"""Whether the simulated disputes are neither trivial nor hopeless: linear, density and forest figures, and their cost.

Everything is trained on the two frauds, four fifths of their rows; legitimate disputes are OOD. Linear is a logistic
regression on z-scored columns. Densities know no classes: the mean distance to ten neighbours and the likelihood of a
PCA Gaussian, both z-scored. The forest's score is one minus its largest probability. In %, on one thread.
"""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from gditd.datasets import make_disputes
from gditd.datasets.disputes import N_FEATURES, N_ROWS
from gditd.metrics import accuracy, balanced_accuracy, ood_auroc
from report import Results, markdown, parser_for, report

Floats = NDArray[np.floating[Any]]
Codes = NDArray[np.int64]

OOD_ROWS = 10_000
NEAR_ROWS = 10_000  # training rows in which neighbours are searched
COMPONENTS = 50
TREES = 200

HEADINGS = {
    "rows": "rows",
    "columns": "columns",
    "generation_seconds": "generation s",
    "peak_mb": "peak memory MB",
    "majority_accuracy": "majority class",
    "linear_accuracy": "linear accuracy",
    "linear_balanced_accuracy": "linear balanced",
    "neighbours_auroc": "neighbours AUROC",
    "gaussian_auroc": "PCA Gaussian AUROC",
    "forest_accuracy": "forest accuracy",
    "forest_auroc": "forest AUROC",
}


def measure(n_rows: int, n_features: int, seed: int) -> dict[str, Any]:
    started = time.monotonic()
    dataset = make_disputes(n_rows, n_features, seed)
    seconds = time.monotonic() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    X = np.asarray(dataset.X)
    is_ood = dataset.y == dataset.ood_class
    codes = (dataset.y == dataset.minority_class).astype(np.int64)
    train, test = train_test_split(np.flatnonzero(~is_ood), test_size=0.2, stratify=codes[~is_ood], random_state=seed)
    shown = np.concatenate([test, np.flatnonzero(is_ood)[:OOD_ROWS]])
    figures = {
        "majority_accuracy": float(np.mean(codes[test] == 0)),
        **linear(X[train], codes[train], X[test], codes[test]),
        **densities(X[train], X[shown], is_ood[shown]),
        **forest(X[train], codes[train], X[shown], codes[test], is_ood[shown]),
    }
    return {
        "rows": n_rows,
        "columns": n_features,
        "seed": seed,
        "generation_seconds": round(seconds, 1),
        "peak_mb": round(peak),
        **{name: round(100 * value, 1) for name, value in figures.items()},
    }


def linear(X: Floats, codes: Codes, X_test: Floats, truth: Codes) -> dict[str, float]:
    scaler = StandardScaler().fit(X)
    predicted = LogisticRegression(max_iter=1000).fit(scaler.transform(X), codes).predict(scaler.transform(X_test))
    return {
        "linear_accuracy": accuracy(truth, predicted) or 0.0,
        "linear_balanced_accuracy": balanced_accuracy(truth, predicted) or 0.0,
    }


def densities(X: Floats, shown: Floats, is_ood: NDArray[np.bool_]) -> dict[str, float]:
    rows = np.random.default_rng(0).permutation(len(X))[:NEAR_ROWS]
    scaler = StandardScaler().fit(X)
    known, new = scaler.transform(X[rows]), scaler.transform(shown)
    distances = NearestNeighbors(n_neighbors=10, algorithm="brute").fit(known).kneighbors(new)[0].mean(axis=1)
    gaussian = PCA(min(COMPONENTS, X.shape[1] - 1), svd_solver="randomized", random_state=0).fit(known)
    return {
        "neighbours_auroc": ood_auroc(is_ood, distances) or 0.0,
        "gaussian_auroc": ood_auroc(is_ood, -gaussian.score_samples(new)) or 0.0,
    }


def forest(X: Floats, codes: Codes, shown: Floats, truth: Codes, is_ood: NDArray[np.bool_]) -> dict[str, float]:
    chances = ExtraTreesClassifier(TREES, random_state=0).fit(X, codes).predict_proba(shown)
    return {
        "forest_accuracy": accuracy(truth, chances[: len(truth)].argmax(axis=1)) or 0.0,
        "forest_auroc": ood_auroc(is_ood, 1 - chances.max(axis=1)) or 0.0,
    }


def as_markdown(results: Results) -> str:
    return markdown([*HEADINGS.values()], ([result[key] for key in HEADINGS] for result in results)) + "\n"


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--rows", default=f"30000,{N_ROWS}", help="sizes, separated by commas")
    parser.add_argument("--features", type=int, default=N_FEATURES)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.rows.split(",")]
    report([measure(size, arguments.features, arguments.seed) for size in sizes], as_markdown, arguments)


if __name__ == "__main__":
    main()
