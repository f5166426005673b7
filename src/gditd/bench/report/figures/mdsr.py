"""Each metric against the share of the minority class that is kept, as in the paper's figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gditd.bench.report import paper_figures
from gditd.bench.report.cells import summary, tidy
from gditd.bench.report.figures.canvas import Picture, Style, line, new_figure, picture, styles, tidy_axes
from gditd.bench.report.names import PAPER_METHOD, PAPER_METHODS, in_order, metric_named

PANELS = ("id_accuracy", "ood_auroc", "ood_aupr", "minority_aupr")
LEGEND_COLUMNS = 4
NEAR = 95  # figures below this need no wider scale
COARSE = (0, 40, 60, 80, 90, 95, 98, 100)
FINE = (85, 88, 90, 92, 94, 95, 96, 97, 98, 99, 99.5, 100)
GREY = Style("#555555", "")


def mdsr_picture(
    results: pd.DataFrame, dataset: str, methods: Sequence[str], *, with_paper: bool = False
) -> Picture | None:
    """The methods of one data set, with the paper's figures dashed if wanted; None where there is a single MDSR."""
    tidied = tidy(results)
    ours = _curves(tidied[(tidied["dataset"] == dataset) & tidied["method"].isin(methods)])
    published = paper_figures.table3()
    theirs = _curves(published[published["dataset"] == dataset]) if with_paper else ours.iloc[:0]
    mdsrs = sorted({*ours["mdsr"], *theirs["mdsr"]}, reverse=True)
    metrics = [metric for metric in PANELS if metric in {*ours["metric"], *theirs["metric"]}]
    if len(mdsrs) < 2 or not metrics:
        return None
    names = in_order([*theirs["method"], *ours["method"]], PAPER_METHODS)
    looks = styles(names, highlighted=PAPER_METHOD if PAPER_METHOD in names else "gditd")
    figure = _drawn(_Curves(ours, theirs, mdsrs, looks), metrics)
    figure.suptitle(dataset, fontsize=13)
    dashed = "; the paper's figures dashed" if len(theirs) else ""
    return picture(
        figure,
        f"mdsr-{_file_name(dataset)}",
        f"{dataset}: means over folds against MDSR{dashed}. Scales widen towards 100 %.",
    )


@dataclass(frozen=True)
class _Curves:
    """The means of one data set, measured and published, and how each method looks."""

    ours: pd.DataFrame
    theirs: pd.DataFrame
    mdsrs: Sequence[float]
    looks: Mapping[str, Style]

    def panel(self, axes: Any, metric: str) -> None:
        """Draw one metric."""
        for method, look in self.looks.items():
            drawn = {"color": look.colour, "marker": look.marker, "markersize": 6}
            faint = {"linestyle": "--", "alpha": 0.65, "markerfacecolor": "white", "markersize": 5}
            for means, kind in ((self.theirs, drawn | faint), (self.ours, drawn)):
                chosen = means[(means["metric"] == metric) & (means["method"] == method)]
                if len(chosen):
                    axes.plot(range(len(self.mdsrs)), chosen.set_index("mdsr")["mean"].reindex(self.mdsrs), **kind)
        axes.set_title(f"{metric_named(metric).label}, %", fontsize=11)
        axes.set_xticks(range(len(self.mdsrs)), [f"{mdsr:g}" for mdsr in self.mdsrs])
        stretch(axes)
        tidy_axes(axes)

    def legend(self) -> list[Any]:
        """A line for each method, and one for each kind of line where there are two."""
        methods = [line(look, label=method) for method, look in self.looks.items()]
        kinds = [line(GREY, label="measured"), line(GREY, linestyle="--", label="paper")]
        return methods + (kinds if len(self.theirs) else [])


def stretch(axes: Any) -> None:
    """Give the figures near 100 % more room: one poor method would press all the others into one line."""
    low, high = axes.get_ylim()
    if high < NEAR:
        return
    axes.set_yscale("function", functions=(lambda v: -np.log(np.maximum(101 - v, 1e-3)), lambda u: 101 - np.exp(-u)))
    axes.set_ylim(max(low, -5.0), min(high, 100.3))
    ticks = [tick for tick in (COARSE if low < 85 else FINE) if low <= tick <= high]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
    axes.minorticks_off()


def _drawn(curves: _Curves, metrics: Sequence[str]) -> Any:
    across = min(2, len(metrics))
    down = -(-len(metrics) // across)
    handles = curves.legend()
    legend_rows = -(-len(handles) // LEGEND_COLUMNS)
    figure = new_figure(4.6 * across, 3.1 * down + 0.5 + 0.22 * legend_rows)
    panels = list(figure.subplots(down, across, squeeze=False).flat)
    for axes, metric in zip(panels, metrics, strict=False):
        curves.panel(axes, metric)
    for axes in panels[max(0, len(metrics) - across) : len(metrics)]:  # the lowest of each column
        axes.set_xlabel("MDSR: share of the minority class kept", fontsize=9)
    for axes in panels[len(metrics) :]:
        axes.set_visible(False)
    columns = min(LEGEND_COLUMNS, len(handles))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
    return figure


def _curves(tidied: pd.DataFrame) -> pd.DataFrame:
    return summary(tidied, ["mdsr", "method", "metric"]).reset_index()


def _file_name(dataset: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in dataset).strip(".-") or "table"
