"""False alarms promised and measured, class by class.

Each table is split into five folds; a model is fitted on four of them at alpha 0.05 and the share of the fifth's rows
that it calls OOD is counted, over all five. Needs GDITD_DATA (but for the generated table).
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from gditd import GDITDClassifier
from report import markdown, parser_for, report
from tables import Table, load

ALPHA = 0.05
ROWS_PER_CLASS = {"gas": 1000, "shuttle": 3000, "nsl-kdd": 3000}


def generated() -> Table:
    """Heavy-tailed numbers, categories and gaps; classes of 1000, 200, 50 and 20 rows."""
    rng = np.random.default_rng(0)
    y = np.repeat(["common", "uncommon", "rare", "very rare"], [1000, 200, 50, 20])
    centre = {kind: rng.normal(size=6) * 2 for kind in np.unique(y)}
    numbers = np.array([centre[kind] for kind in y]) + rng.standard_t(4, size=(len(y), 6))
    numbers[rng.random(numbers.shape) < 0.02] = np.nan
    X = pd.DataFrame(numbers, columns=[f"n{i}" for i in range(6)])
    X["c"] = rng.choice(["a", "b", "c", *(f"seldom {i}" for i in range(40))], len(y), p=[0.4, 0.3, 0.2] + [0.0025] * 40)
    return Table("generated", X, y)


def measure(table: Table, calibration: str) -> list[dict[str, Any]]:
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    flagged = np.zeros(len(table.y), dtype=bool)
    promises = []
    for number, (train, test) in enumerate(folds.split(table.X, table.y)):
        print(f"{table.name}, {calibration}, fold {number + 1} of 5", file=sys.stderr)
        model = GDITDClassifier(alpha=ALPHA, calibration=calibration, views="zeta", random_state=number)  # type: ignore[arg-type]
        model.fit(table.X.iloc[train], table.y[train])
        flagged[test] = (model.verdict(table.X.iloc[test])["verdict"] == "OOD").to_numpy()
        promises.append(model.promises().set_index("class"))
    rows = []
    for label in np.unique(table.y):
        own = table.y == label
        together = promises[0].loc[label, "calibrated_with"]
        rows.append(
            {
                "table": table.name,
                "calibration": calibration,
                "class": str(label),
                "rows": int(own.sum()),
                "promised": round(float(np.mean([p.loc[label, "promise"] for p in promises])), 4),
                "measured": round(float(flagged[own].mean()), 4),
                "standard_error": round(float(np.sqrt(ALPHA * (1 - ALPHA) / own.sum())), 4),
                "calibrated_with": str(together),
            }
        )
    return rows


def as_markdown(results: list[dict[str, Any]]) -> str:
    together = "calibrated together with"
    headings = ["table", "calibration", "class", "rows", "promised at most", "measured", "±", together]
    rows = [
        [
            r["table"],
            r["calibration"],
            r["class"],
            f"{r['rows']:,}",
            f"{100 * r['promised']:.1f} %",
            f"{100 * r['measured']:.1f} %",
            f"{100 * r['standard_error']:.1f}",
            r["calibrated_with"],
        ]
        for r in results
    ]
    return markdown(headings, rows, texts=["calibration", "class", together]) + "\n"


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--tables", default="generated,gas,shuttle,nsl-kdd")
    parser.add_argument("--calibrations", default="split,cross")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = []
    for name in arguments.tables.split(","):
        table = generated() if name == "generated" else load(name, ROWS_PER_CLASS[name])
        for calibration in arguments.calibrations.split(","):
            results += measure(table, calibration)
    report(results, as_markdown, arguments)


if __name__ == "__main__":
    main()
