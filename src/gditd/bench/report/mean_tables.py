"""Methods down, metrics across, for any table: what a bench on somebody's own data comes to."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from gditd.bench.report.cells import summary, tidy
from gditd.bench.report.missing import missing
from gditd.bench.report.names import METRICS, PAPER_METHOD, in_order, is_trial, metric_named
from gditd.bench.report.tables import Cell, Row, Table, best, mean_and_std

NO_FIGURE = (math.nan, math.nan)


def mean_tables(results: pd.DataFrame) -> list[Table]:
    """One table for each data set and MDSR, the largest MDSR first."""
    tidied = tidy(results)
    found = tidied[["dataset", "mdsr"]].drop_duplicates().itertuples(index=False)
    order = in_order(tidied["dataset"], [])
    keys = sorted(((str(d), float(m)) for d, m in found), key=lambda key: (order.index(key[0]), -key[1]))
    return [_mean_table(tidied[(tidied["dataset"] == d) & (tidied["mdsr"] == m)], d, m) for d, m in keys]


def mean_table(results: pd.DataFrame, title: str) -> Table:
    """One table over all the results given: mean and standard deviation over folds, seeds and OOD classes."""
    return _table(tidy(results), title)


def trial_tables(results: pd.DataFrame) -> list[Table]:
    """The paper's method and its variants side by side, wherever a variant was tried."""
    tidied = tidy(results)
    tried = tidied.loc[[is_trial(m) for m in tidied["method"]], ["dataset", "mdsr"]].drop_duplicates()
    where = results.assign(mdsr=results["mdsr"].astype(float).round(6)).merge(tried, on=["dataset", "mdsr"])
    wanted = [m == PAPER_METHOD or is_trial(m) for m in where["method"]]
    return mean_tables(where[wanted]) if any(wanted) else []


def own_missing(results: pd.DataFrame) -> list[str]:
    """What an unfinished run lacks, judged by the methods and MDSRs that have any figure."""
    tidied = tidy(results)
    methods = in_order(tidied["method"], [])
    mdsrs = {d: set(tidied.loc[tidied["dataset"] == d, "mdsr"]) for d in in_order(tidied["dataset"], [])}
    return missing(tidied, {dataset: (sorted(found, reverse=True), methods) for dataset, found in mdsrs.items()})


def _mean_table(tidied: pd.DataFrame, dataset: str, mdsr: float) -> Table:
    return _table(tidied, dataset if mdsr == 1 else f"{dataset}, MDSR {mdsr:g}")


def _table(tidied: pd.DataFrame, title: str) -> Table:
    metrics = in_order(tidied["metric"], METRICS)
    methods = in_order(tidied["method"], [])
    columns = [_column(tidied, metric, methods) for metric in metrics]
    return Table(
        title=title,
        label_headings=("Method",),
        headings=tuple(_heading(metric) for metric in metrics),
        rows=tuple(Row((m,), cells) for m, cells in zip(methods, zip(*columns, strict=True), strict=True)),
        notes=_notes(tidied),
    )


def _column(tidied: pd.DataFrame, metric: str, methods: Sequence[str]) -> tuple[Cell, ...]:
    rows = summary(tidied[tidied["metric"] == metric], ["method"]).itertuples()
    figures = {row.Index: (row.mean, row.std) for row in rows}
    shown = metric_named(metric)
    means = [figures.get(method, NO_FIGURE)[0] for method in methods]
    marks = best(means, shown.decimals, higher=shown.higher_is_better)
    texts = [mean_and_std(*figures.get(method, NO_FIGURE), shown.decimals) for method in methods]
    return tuple(Cell(text, mark) for text, mark in zip(texts, marks, strict=True))


def _heading(metric: str) -> str:
    shown = metric_named(metric)
    return f"{shown.label}, %" if shown.share else shown.label


def _notes(tidied: pd.DataFrame) -> tuple[str, ...]:
    over = {"folds": "fold", "seeds": "seed", "OOD classes": "ood_class"}
    counts = {words: tidied[column].nunique() for words, column in over.items()}
    several = [f"{n} {words}" for words, n in counts.items() if n > 1]
    if not several:
        return ("One run of each method: no spread can be given.",)
    return (f"Mean ± standard deviation over {', '.join(several)}; the best mean in bold.",)
