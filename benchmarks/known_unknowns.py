"""What a few rows known to be OOD are worth: OOD AUROC with and without twenty of them, on the other OOD rows.

The cells are those of detection.py with fold 1 and MDSR 1 only, at most 8,000 rows and two OOD classes a table. Needs
GDITD_DATA, or --data.

    python benchmarks/known_unknowns.py [--json] [--out FILE] [--tables a,b] [--data DIR]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from detection import small_cells_main
from gditd import GDITDClassifier, metrics
from gditd.bench.protocol import Cell, split
from gditd.bench.tables import BenchTable
from report import Results, markdown

N_KNOWN = 20


def measure(table: BenchTable, cell: Cell) -> dict[str, Any]:
    """One cell, fitted twice."""
    rows = split(table, cell)
    ood = np.random.default_rng(0).permutation(rows.ood)
    tested = np.concatenate([rows.test, ood[N_KNOWN:]])
    is_ood = np.repeat([False, True], [len(rows.test), len(ood) - N_KNOWN])
    found = {}
    for name, given in (("without", None), ("with", table.take(ood[:N_KNOWN]))):
        model = GDITDClassifier(random_state=0).fit(table.take(rows.train), table.labels[rows.train], ood=given)
        found[name] = metrics.ood_auroc(is_ood, model.ood_score(table.take(tested)))
    return {"table": table.name, "ood_class": cell.ood_class, **found}


def as_markdown(results: Results) -> str:
    """One line a cell."""
    headings = ["table", "OOD class", "without", f"with {N_KNOWN} rows", "gain"]
    rows = [
        [
            one["table"],
            one["ood_class"],
            f"{100 * one['without']:.1f}",
            f"{100 * one['with']:.1f}",
            f"{100 * (one['with'] - one['without']):+.1f}",
        ]
        for one in results
    ]
    return markdown(headings, rows, texts=["OOD class"]) + "\n"


if __name__ == "__main__":
    small_cells_main(__doc__, measure, as_markdown)
