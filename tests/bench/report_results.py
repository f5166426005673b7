"""Made-up results in the shape a bench run gives them: the paper's figures with a known error and known folds."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from gditd.bench.report import paper_figures

COLUMNS = ["dataset", "ood_class", "minority_class", "mdsr", "method", "fold", "seed", "metric", "value"]
FOLDS = (-1.0, 0.0, 1.0)  # what each fold is off, in points: standard deviation 1


def row(
    cell: tuple[str, float], method: str, fold: int, figure: tuple[str, float], ood_class: str = "0"
) -> list[object]:
    (dataset, mdsr), (metric, value) = cell, figure
    return [dataset, ood_class, "1", mdsr, method, fold, 0, metric, value]


def paper_results(off: float = -0.5, datasets: Sequence[str] = ("disputes", "gas", "drive", "mnist")) -> pd.DataFrame:
    """Both of the paper's tables, every figure off by so many points."""
    both = pd.concat([paper_figures.table3(), paper_figures.table4()])
    both = both.drop_duplicates(["dataset", "mdsr", "method", "metric"])
    rows = [
        row((cell.dataset, cell.mdsr), cell.method, fold, (cell.metric, (cell.value + off + step) / 100))
        for cell in both[both["dataset"].isin(datasets)].itertuples()
        for fold, step in enumerate(FOLDS, start=1)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def own_results(mdsrs: Sequence[float] = (1.0, 0.5, 0.1), dataset: str = "my_table") -> pd.DataFrame:
    """Three methods, of which one knows no classes, on somebody's own table."""
    levels = {"gditd": 0.95, "extra-trees": 0.90, "isolation-forest": 0.70}
    rows = []
    for mdsr in mdsrs:
        for method, level in levels.items():
            for fold, step in enumerate(FOLDS, start=1):
                value = level + step / 100 - 0.01 * (1 - mdsr)
                accuracy = float("nan") if method == "isolation-forest" else value
                rows.append(row((dataset, mdsr), method, fold, ("id_accuracy", accuracy)))
                rows.append(row((dataset, mdsr), method, fold, ("ood_auroc", value)))
                rows.append(row((dataset, mdsr), method, fold, ("fit_seconds", 10 * level)))
                rows.append(row((dataset, mdsr), method, fold, ("score_rows_per_second", 123456.0)))
    return pd.DataFrame(rows, columns=COLUMNS)
