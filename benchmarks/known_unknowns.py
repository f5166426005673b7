"""What a few rows known to be OOD are worth: OOD AUROC with and without twenty of them, on the other OOD rows.

The cells are those of detection.py with fold 1 and MDSR 1 only, at most 8,000 rows and two OOD classes a table. Needs
GDITD_DATA, or --data.

    python benchmarks/known_unknowns.py [--json] [--out FILE] [--tables a,b] [--data DIR]
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from detection import TABLES, experiments
from gditd import GDITDClassifier, metrics
from gditd.bench.protocol import Cell, cells, split
from gditd.bench.tables import BenchTable, load_table
from report import Results, parser_for, report

N_KNOWN = 20


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--tables", default=",".join(TABLES), help="with commas between them")
    parser.add_argument("--data", help="the folder of the data sets' files; default: GDITD_DATA")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results: Results = []
    with threadpool_limits(1):
        for whole in experiments(arguments.tables.split(","), ("gditd",)):
            own = replace(whole, mdsr=(1.0,), only_folds=(1,), ood_classes=whole.ood_classes[:2], max_rows=8_000)
            table = load_table(own, arguments.data)
            for cell in cells(own, table):
                results.append(measure(table, cell))
                print(results[-1], file=sys.stderr)
    report(results, as_markdown, arguments)


def measure(table: BenchTable, cell: Cell) -> dict[str, object]:
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
    lines = ["| table | OOD class | without | with 20 rows | gain |", "|---|---|---:|---:|---:|"]
    lines += [
        f"| {one['table']} | {one['ood_class']} | {100 * one['without']:.1f} | {100 * one['with']:.1f} "
        f"| {100 * (one['with'] - one['without']):+.1f} |"
        for one in results
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
