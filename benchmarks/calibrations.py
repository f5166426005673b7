"""Cross or split calibration: what the default was chosen by.

For each class left out in turn: false alarms (the largest and the mean over known classes), recall of the unseen class
at alpha 0.05, and what keeping calibration rows out of training costs in accuracy. Needs GDITD_DATA.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from gditd import GDITDClassifier
from report import markdown, parser_for, report
from tables import Cell, cells, load

ALPHA = 0.05
# rows a class, classes left out in turn, minority class, share of it kept
TABLES: dict[str, tuple[int, list[Any], Any, float]] = {
    "gas": (500, [0, 3], 2, 0.1),
    "drive": (200, [0, 5], 1, 0.25),
    "shuttle": (2500, [3, 0], 2, 1.0),
    "nsl-kdd": (2500, ["probe", "dos"], "r2l", 1.0),
}
ARMS: dict[str, dict[str, Any]] = {
    "cross, 5 members": {"calibration": "cross", "n_members": 5},
    "split, 5 members": {"calibration": "split", "n_members": 5},
    "split, 1 member": {"calibration": "split", "n_members": 1},
}


def measure(cell: Cell, settings: dict[str, Any]) -> dict[str, float]:
    X, y = cell.table.X, cell.table.y
    model = GDITDClassifier(alpha=ALPHA, views="zeta", random_state=0, **settings).fit(
        X.iloc[cell.train], y[cell.train]
    )
    known, unseen = model.verdict(X.iloc[cell.test]), model.verdict(X.iloc[cell.ood])
    truth = y[cell.test]
    flagged = (known["verdict"] == "OOD").to_numpy()
    by_class = [flagged[truth == c].mean() for c in np.unique(truth) if (truth == c).sum() >= 100]
    scores = np.concatenate([known["ood_score"], unseen["ood_score"]])
    figures = {
        "mean_false_alarms": flagged.mean(),
        "largest_false_alarms": max(by_class, default=float("nan")),
        "ood_recall": (unseen["verdict"] == "OOD").mean(),
        "ood_auroc": roc_auc_score(np.repeat([0, 1], [len(known), len(unseen)]), scores),
        "balanced_accuracy": balanced_accuracy_score(truth, known["known_class"]),
    }
    return {name: round(100 * float(value), 1) for name, value in figures.items()}


def run(names: list[str]) -> list[dict[str, Any]]:
    results = []
    for name in names:
        rows_per_class, ood_classes, minority, mdsr = TABLES[name]
        table = load(name, rows_per_class)
        for arm, settings in ARMS.items():
            for cell in cells(table, ood_classes, minority, mdsr):
                results.append({"table": name, "arm": arm, "ood_class": str(cell.ood_class), **measure(cell, settings)})
                print(json.dumps(results[-1]), file=sys.stderr)
    return results


def as_markdown(results: list[dict[str, Any]]) -> str:
    names = list(results[0])
    rows = [[str(r[name]).replace("nan", "") for name in names] for r in results]
    return markdown([name.replace("_", " ") for name in names], rows, texts=["arm", "ood class"]) + "\n"


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--tables", default=",".join(TABLES))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = run(arguments.tables.split(","))
    report(results, as_markdown, arguments)


if __name__ == "__main__":
    main()
