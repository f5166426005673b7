"""From one row per figure to cells: a data set, its OOD and minority class and an MDSR, with folds averaged."""

from __future__ import annotations

import pandas as pd

from gditd.bench.report.names import METRICS

CELL = ["dataset", "ood_class", "minority_class", "mdsr"]
RUN = ["fold", "seed"]
COLUMNS = [*CELL, "method", *RUN, "metric", "value"]


def tidy(results: pd.DataFrame) -> pd.DataFrame:
    """The results with shares in %, undefined figures left out, and a figure measured twice counted once, the last."""
    lacking = [column for column in COLUMNS if column not in results]
    if lacking:
        raise ValueError(f"the results lack {', '.join(lacking)}: they need the columns {', '.join(COLUMNS)}")
    # An empty frame has no types of its own, and an MDSR that was computed must meet the one that was printed.
    texts = dict.fromkeys(("dataset", "ood_class", "minority_class", "method", "metric"), str)
    table = results[COLUMNS].astype({**texts, "mdsr": float, "value": float}).round({"mdsr": 6})
    table = table.drop_duplicates([column for column in COLUMNS if column != "value"], keep="last")
    shares = table["metric"].isin([name for name, metric in METRICS.items() if metric.share])
    table["value"] = table["value"].where(~shares, 100 * table["value"])
    return table.dropna(subset="value").reset_index(drop=True)


def summary(tidied: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Mean, standard deviation (NaN for one run) and number of runs for each combination of `by`."""
    return tidied.groupby(by, sort=False)["value"].agg(["mean", "std", "count"])


def matrix(tidied: pd.DataFrame, metric: str, methods: list[str] | None = None) -> pd.DataFrame:
    """One row a cell, one column a method: the mean over the runs that every method of that cell has."""
    chosen = tidied[tidied["metric"] == metric]
    if methods is not None:
        chosen = chosen[chosen["method"].isin(methods)]
    order = methods if methods is not None else list(dict.fromkeys(chosen["method"]))
    wide = chosen.pivot(index=[*CELL, *RUN], columns="method", values="value")
    # An unfinished run has folds that one method lacks: a mean over them would compare different rows.
    begun = wide.notna().groupby(level=CELL).transform("any")
    shared = wide[(wide.notna() | ~begun).all(axis=1)]
    return shared.groupby(level=CELL).mean().reindex(columns=order)
