"""How gditd and its peers do with a few dozen rows of each class, as a clinic or a new production line may have.

Of ten tables, 2, 3 or 5 known classes and one unseen are drawn at random, with 25, 40 or 80 rows of each known class to
learn from, four times each; at most 200 other rows of each known class and 300 of the unseen one are judged. Tables
that have fewer classes, or too few rows of them, are drawn from less often. The same rows and seeds for every method.
Needs GDITD_DATA, or --data.

    python benchmarks/few_rows.py [--json] [--out FILE] [--tables a,b] [--methods a,b] [--data DIR]
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_limits

import detection
from gditd import metrics
from gditd.bench import Experiment
from gditd.bench.encoding import PreparedCell
from gditd.bench.methods import method
from gditd.bench.protocol import Cell, Split
from gditd.bench.tables import BenchTable, load_table
from report import Results, markdown, parser_for, report

TABLES = (*detection.TABLES, "iris")
CLASSES = (2, 3, 5)
ROWS = (25, 40, 80)
DRAWS = 4

FEWEST_JUDGED = 20  # rows of a known class that are left to be judged
MOST_JUDGED = 200
MOST_UNSEEN = 300
MOST_ROWS = 8_000  # of a table that are drawn from


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--tables", default=",".join(TABLES), help="with commas between them")
    parser.add_argument("--methods", default=",".join(detection.METHODS), help="with commas between them")
    parser.add_argument("--data", help="the folder of the data sets' files; default: GDITD_DATA")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    results: Results = []
    with threadpool_limits(1):
        for name in arguments.tables.split(","):
            for n_classes, n_rows, cell in draws(table_of(name, arguments.data)):
                print(f"{name}, {n_classes} classes of {n_rows} rows", file=sys.stderr)
                about = {"table": name, "classes": n_classes, "rows": n_rows}
                results += [
                    {**about, "method": wanted, "ood_auroc": ood_auroc(wanted, cell)}
                    for wanted in arguments.methods.split(",")
                ]
    report(results, as_markdown, arguments)


def table_of(name: str, data: str | None) -> BenchTable:
    """A table by name."""
    if name != "iris":
        return load_table(Experiment(dataset=name, methods=("gditd",), max_rows=MOST_ROWS), data)
    iris = load_iris()
    columns = dict(zip(iris.feature_names, iris.data.T, strict=True))
    names = {str(number): str(species) for number, species in enumerate(iris.target_names)}
    return BenchTable("iris", pa.table(columns), iris.target.astype(str), names)


def draws(table: BenchTable) -> Iterator[tuple[int, int, PreparedCell]]:
    """All draws that the table has enough classes and rows for, with their numbers of classes and rows."""
    rng = np.random.default_rng(0)
    labels, counts = np.unique(table.labels, return_counts=True)
    for n_classes, n_rows, _ in product(CLASSES, ROWS, range(DRAWS)):
        large = labels[counts >= n_rows + FEWEST_JUDGED]
        if len(large) > n_classes:
            unseen, *known = rng.permutation(large)[: n_classes + 1]
            yield n_classes, n_rows, drawn(table, str(unseen), [str(label) for label in known], n_rows, rng)


def drawn(table: BenchTable, unseen: str, known: list[str], n_rows: int, rng: np.random.Generator) -> PreparedCell:
    """Draw the rows, and learn the columns from those that teach."""
    shuffled = [rng.permutation(np.flatnonzero(table.labels == label)) for label in known]
    split = Split(
        np.concatenate([own[:n_rows] for own in shuffled]),
        np.concatenate([own[n_rows : n_rows + MOST_JUDGED] for own in shuffled]),
        rng.permutation(np.flatnonzero(table.labels == unseen))[:MOST_UNSEEN],
    )
    return PreparedCell.of_rows(table, Cell(unseen, known[0], mdsr=1.0, fold=1, folds=1, seed=0), split)


def ood_auroc(name: str, cell: PreparedCell) -> float | None:
    """Fit a method on the rows that teach, and see how well it tells the unseen class from the known ones."""
    own = method(name)
    view = cell.table.take if own.kind == "table" else cell.encoded
    train, judged = cell.split.train, cell.test_rows
    fitted = own.make(0, None).fit(view(train), cell.codes(train))
    return metrics.ood_auroc(cell.codes(judged) < 0, fitted.ood_score(view(judged)))


def as_markdown(results: Results) -> str:
    """Means by numbers of classes and rows, and by table."""
    frame = pd.DataFrame(results)
    frame["ood_auroc"] *= 100
    parts = [
        "# A few dozen rows of each class",
        f"OOD AUROC in %, {len(frame) // frame['method'].nunique()} draws, mean over tables of the mean over each "
        "table's draws. Made by `python benchmarks/few_rows.py`.",
        means(frame, "classes", "known classes"),
        means(frame, "rows", "rows of each"),
        "## By table",
        means(frame, "table", "table"),
    ]
    return "\n\n".join(parts) + "\n"


def means(frame: pd.DataFrame, by: str, heading: str) -> str:
    """A line for each value of a column, methods across, and a line for all."""
    methods = list(dict.fromkeys(frame["method"]))
    by_table = frame.groupby(list(dict.fromkeys([by, "table", "method"])), sort=False)["ood_auroc"].mean()
    lines = by_table.groupby([by, "method"], sort=False).mean().unstack()[methods]
    overall = frame.groupby(["table", "method"], sort=False)["ood_auroc"].mean().groupby("method").mean()[methods]
    rows = [[name, *(f"{value:.1f}" for value in row)] for name, row in zip(lines.index, lines.to_numpy(), strict=True)]
    return markdown([heading, *methods], [*rows, ["all", *(f"{value:.1f}" for value in overall)]])


if __name__ == "__main__":
    main()
