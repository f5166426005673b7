"""The figures the paper printed, in %, under the names the bench uses: its own method is "gditd-paper".

table3.csv is the comparison of methods, table4.csv the ablation on gas at MDSR 1, wilcoxon.csv the text's p-values.
"""

from __future__ import annotations

from importlib.resources import files

import pandas as pd


def table3() -> pd.DataFrame:
    """Columns dataset, mdsr, method, metric, value: 21 cells, 4 methods, 5 metrics."""
    return _read("table3.csv")


def table4() -> pd.DataFrame:
    """The same columns: one loss alone (gditd-only-...), all but one (gditd-without-...), and all of them."""
    return _read("table4.csv")


def wilcoxon_p_values() -> dict[str, float]:
    """The p-value the paper gives for each metric, its method against the second-best scores."""
    table = _read("wilcoxon.csv")
    return dict(zip(table["metric"], table["p_value"], strict=True))


def _read(name: str) -> pd.DataFrame:
    with files(__name__).joinpath(name).open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype={"mdsr": float})
