"""The paper's Tables 3 and 4 measured again, each figure beside the published one, and how far they are apart."""

from __future__ import annotations

import math

import pandas as pd

from gditd.bench.report import paper_figures
from gditd.bench.report.cells import summary, tidy
from gditd.bench.report.missing import missing
from gditd.bench.report.names import (
    ARMS,
    LOSSES,
    PAPER_DATASETS,
    PAPER_METHOD,
    PAPER_METHODS,
    SHARES,
    ablation_arms,
    compared,
    metric_named,
)
from gditd.bench.report.tables import ABSENT, Cell, Row, Table, best, mean_and_std, number

CLOSE = 1.5  # points within which a figure counts as the paper's
KEY = ["dataset", "mdsr", "method", "metric"]
ABLATION_DATASET, ABLATION_MDSR = "gas", 1.0
ABLATION_METRICS = ("id_accuracy", "ood_aupr", "minority_aupr")
HOW_TO_READ = (
    "In %: mean ± standard deviation over folds, and in brackets the paper's figure and the difference in points; "
    "the best measured mean in bold."
)

Key = tuple[str, float, str, str]


def table3(results: pd.DataFrame) -> list[Table]:
    """One table for each of the paper's data sets that was measured: metric and method down, MDSR across."""
    tidied, published = tidy(results), paper_figures.table3()
    measured = [dataset for dataset in PAPER_DATASETS if dataset in set(tidied["dataset"])]
    return [_table3(tidied[tidied["dataset"] == dataset], published, dataset) for dataset in measured]


def table3_missing(results: pd.DataFrame) -> list[str]:
    """What the results lack of the paper's Table 3, and of the other methods on the data sets they were begun on."""
    tidied, published = tidy(results), paper_figures.table3()
    begun = {dataset: tidied.loc[tidied["dataset"] == dataset, "method"] for dataset in PAPER_DATASETS}
    return missing(tidied, {d: (_mdsrs(published, d), compared([*PAPER_METHODS, *begun[d]])) for d in PAPER_DATASETS})


def table4(results: pd.DataFrame) -> Table:
    """The ablation: each loss alone, all but it, and all of them."""
    figures = _Figures(_of_ablation(tidy(results)), paper_figures.table4())
    keys = [[(ABLATION_DATASET, ABLATION_MDSR, m, metric) for m in _ablation_methods()] for metric in ABLATION_METRICS]
    columns = [figures.cells(column) for column in keys]
    labels = [(LOSSES[loss], ARMS[arm]) for loss, arm in ablation_arms().values()] + [("All losses", ABSENT)]
    return Table(
        title=f"Ablation on {ABLATION_DATASET}, MDSR {ABLATION_MDSR:g} (Table 4)",
        label_headings=("Loss", "Trained with"),
        headings=tuple(metric_named(metric).label for metric in ABLATION_METRICS),
        rows=tuple(Row(label, cells) for label, cells in zip(labels, zip(*columns, strict=True), strict=True)),
        notes=(HOW_TO_READ,),
    )


def table4_missing(results: pd.DataFrame) -> list[str]:
    """What the results lack of the paper's Table 4."""
    return missing(_of_ablation(tidy(results)), {ABLATION_DATASET: ([ABLATION_MDSR], _ablation_methods())})


def differences(results: pd.DataFrame) -> pd.DataFrame:
    """Every cell that was measured and printed: KEY, ours, paper and difference, ours less the paper's, in points."""
    ours = summary(tidy(results), KEY)["mean"].rename("ours").reset_index()
    both = ours.merge(paper_figures.table3().rename(columns={"value": "paper"}), on=KEY)
    return both.assign(difference=both["ours"] - both["paper"])


def difference_table(results: pd.DataFrame) -> Table:
    """The mean difference for each data set, method and metric, and how many cells are close to the paper's."""
    apart = differences(results)
    datasets = [dataset for dataset in PAPER_DATASETS if dataset in set(apart["dataset"])]
    blocks = [(d, m, apart[(apart["dataset"] == d) & (apart["method"] == m)]) for d in datasets for m in PAPER_METHODS]
    whole = [("all", m, apart[apart["method"] == m]) for m in PAPER_METHODS if datasets]
    rows = [Row((d, m), tuple(_apart(block, metric) for metric in SHARES)) for d, m, block in blocks + whole]
    close = int((apart["difference"].abs() <= CLOSE).sum())
    return Table(
        title="How far from the paper",
        label_headings=("Data set", "Method"),
        headings=tuple(metric_named(metric).label for metric in SHARES),
        rows=tuple(rows),
        notes=(
            f"{close} of {len(apart)} cells are within {CLOSE:g} points of the paper's figure.",
            f"Mean difference in points, ours less the paper's, and how many cells are within {CLOSE:g} points.",
        ),
    )


class _Figures:
    """Measured means and published figures by data set, MDSR, method and metric."""

    def __init__(self, tidied: pd.DataFrame, published: pd.DataFrame) -> None:
        rows = summary(tidied, KEY).reset_index().itertuples()
        self.measured: dict[Key, tuple[float, float]] = {
            (row.dataset, row.mdsr, row.method, row.metric): (row.mean, row.std) for row in rows
        }
        self.published: dict[Key, float] = published.set_index(KEY)["value"].to_dict()

    def cells(self, keys: list[Key]) -> tuple[Cell, ...]:
        """The cells for some keys that compete with each other."""
        marks = best([self.measured.get(key, (math.nan, math.nan))[0] for key in keys])
        return tuple(Cell(self._text(key), mark) for key, mark in zip(keys, marks, strict=True))

    def _text(self, key: Key) -> str:
        mean, std = self.measured.get(key, (math.nan, math.nan))
        paper = self.published.get(key)
        if paper is None:
            return mean_and_std(mean, std)
        return f"{mean_and_std(mean, std)} ({number(paper)}, {number(mean - paper, signed=True)})"


def _table3(tidied: pd.DataFrame, published: pd.DataFrame, dataset: str) -> Table:
    mdsrs = sorted({*_mdsrs(published, dataset), *tidied["mdsr"]}, reverse=True)
    methods = compared([*PAPER_METHODS, *tidied["method"]])
    figures = _Figures(tidied, published)
    rows = []
    for metric in SHARES:
        columns = [figures.cells([(dataset, mdsr, method, metric) for method in methods]) for mdsr in mdsrs]
        label = metric_named(metric).label
        rows += [Row((label, m), cells) for m, cells in zip(methods, zip(*columns, strict=True), strict=True)]
    return Table(
        title=f"{dataset} (Table 3)",
        label_headings=("Metric", "Method"),
        headings=tuple(f"MDSR {mdsr:g}" for mdsr in mdsrs),
        rows=tuple(rows),
        notes=(HOW_TO_READ, *_several_ood_classes(tidied)),
    )


def _several_ood_classes(tidied: pd.DataFrame) -> list[str]:
    classes = list(dict.fromkeys(tidied["ood_class"]))
    return [f"Means are also over the OOD classes {', '.join(classes)}."] if len(classes) > 1 else []


def _mdsrs(published: pd.DataFrame, dataset: str) -> list[float]:
    return sorted(set(published.loc[published["dataset"] == dataset, "mdsr"]), reverse=True)


def _ablation_methods() -> list[str]:
    return [*ablation_arms(), PAPER_METHOD]


def _of_ablation(tidied: pd.DataFrame) -> pd.DataFrame:
    here = (tidied["dataset"] == ABLATION_DATASET) & (tidied["mdsr"] == ABLATION_MDSR)
    return tidied[here & tidied["method"].isin(_ablation_methods())]


def _apart(block: pd.DataFrame, metric: str) -> Cell:
    apart = block.loc[block["metric"] == metric, "difference"]
    if apart.empty:
        return Cell(ABSENT)
    return Cell(f"{number(apart.mean(), signed=True)} ({int((apart.abs() <= CLOSE).sum())} of {len(apart)})")
