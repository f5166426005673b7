"""What the default settings were chosen by: encodings, backbones and the treatment of rare classes.

Each arm changes one thing about the preset "default" and is measured on the same splits: OOD AUROC, accuracy,
balanced accuracy and the average precision of the minority class, in %. gas, drive and MNIST keep a tenth of their
minority class; shuttle and NSL-KDD are imbalanced by themselves. Needs GDITD_DATA.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, average_precision_score, balanced_accuracy_score, roc_auc_score

from gditd import GDITDClassifier
from report import markdown, parser_for, report
from tables import Cell, cells, load

# rows a class, classes left out in turn, minority class, share of it kept
TABLES: dict[str, tuple[int, list[Any], Any, float]] = {
    "gas": (500, [0, 3], 2, 0.1),
    "drive": (200, [0, 5], 1, 0.1),
    "mnist": (400, [0, 4], 1, 0.1),
    "shuttle": (2500, [3, 0], 2, 1.0),
    "nsl-kdd": (2500, ["probe", "dos"], "r2l", 1.0),
}

ARMS: dict[str, dict[str, Any]] = {
    "default": {},
    "numbers: quantile": {"numbers": "quantile"},
    "numbers: piecewise": {"numbers": "piecewise"},
    "backbone: residual": {"backbone": "residual"},
    "early stopping": {"validation_fraction": 0.1},
    "beta: effective": {"beta": "effective"},
    "rare rows as they come": {"rare_per_batch": 0},
    "beta: effective and rare rows as they come": {"beta": "effective", "rare_per_batch": 0},
}


def measure(cell: Cell, settings: dict[str, Any]) -> dict[str, float]:
    X, y = cell.table.X, cell.table.y
    model = GDITDClassifier(views="zeta", random_state=0, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X.iloc[cell.train], y[cell.train])
    known, truth = X.iloc[cell.test], y[cell.test]
    scores = np.concatenate([model.ood_score(known), model.ood_score(X.iloc[cell.ood])])
    is_ood = np.repeat([0, 1], [len(cell.test), len(cell.ood)])
    minority = model.predict_proba(known)[:, model.classes_ == cell.minority_class].ravel()
    figures = {
        "ood_auroc": roc_auc_score(is_ood, scores),
        "id_accuracy": accuracy_score(truth, model.predict(known)),
        "balanced_accuracy": balanced_accuracy_score(truth, model.predict(known)),
        "minority_aupr": average_precision_score(truth == cell.minority_class, minority),
    }
    return {name: round(100 * float(value), 2) for name, value in figures.items()}


def run(names: list[str], arms: list[str]) -> list[dict[str, Any]]:
    results = []
    for name in names:
        rows_per_class, ood_classes, minority, mdsr = TABLES[name]
        table = load(name, rows_per_class)
        for arm in arms:
            for cell in cells(table, ood_classes, minority, mdsr):
                figures = measure(cell, ARMS[arm])
                results.append({"table": name, "arm": arm, "ood_class": str(cell.ood_class), **figures})
                print(json.dumps(results[-1]), file=sys.stderr)
    return results


def as_markdown(results: list[dict[str, Any]]) -> str:
    """Means over the classes left out, a row an arm."""
    metrics = ["ood_auroc", "id_accuracy", "balanced_accuracy", "minority_aupr"]
    rows = []
    for table, arm in dict.fromkeys((r["table"], r["arm"]) for r in results):
        own = [r for r in results if (r["table"], r["arm"]) == (table, arm)]
        means = [f"{np.mean([r[metric] for r in own]):.1f}" for metric in metrics]
        rows.append([table, arm, *means])
    headings = ["table", "arm", "OOD AUROC", "accuracy", "balanced accuracy", "minority AUPR"]
    return markdown(headings, rows, texts=["arm"]) + "\n"


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--arms", default=",".join(ARMS))
    arguments = parser.parse_args()
    results = run(arguments.tables.split(","), arguments.arms.split(","))
    report(results, as_markdown, arguments)


if __name__ == "__main__":
    main()
