"""The critical-difference diagram of Demšar (2006): mean ranks on a line, bars over methods that do not differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gditd.bench.report.figures.canvas import Picture, new_figure, picture
from gditd.bench.report.names import metric_named
from gditd.bench.report.statistics import ALPHA, Ranks

STEP = 0.30  # inches between lines of text
INK = "#222222"
BAR = "#0072B2"


def rank_picture(ranks: Mapping[str, Ranks]) -> Picture | None:
    """One diagram a metric, the best method to the right; None where no metric has ranks."""
    drawn = {metric: found for metric, found in ranks.items() if found.mean_ranks}
    if not drawn:
        return None
    heights = [_height(found) for found in drawn.values()]
    figure = new_figure(7.6, sum(heights))
    panels = figure.subplots(len(drawn), 1, squeeze=False, height_ratios=heights).flat
    for axes, height, (metric, found) in zip(panels, heights, drawn.items(), strict=True):
        _diagram(axes, height, found)
        axes.set_title(f"{metric_named(metric).label} ({found.cells} cells)", fontsize=11, loc="left")
    caption = (
        f"Mean ranks, best to the right. Bars join methods that do not differ significantly (Nemenyi, {ALPHA:g}); "
        "CD is the critical difference."
    )
    return picture(figure, "critical-difference", caption)


def cliques(mean_ranks: Mapping[str, float], critical_difference: float) -> list[tuple[float, float]]:
    """The widest runs of at least two methods that differ by less than the critical difference, as (best, worst)."""
    ranks = sorted(mean_ranks.values())
    runs: list[tuple[int, int]] = []
    for first, start in enumerate(ranks):
        last = max(place for place, end in enumerate(ranks) if end - start < critical_difference or place == first)
        if last > first and not (runs and runs[-1][1] == last):  # a run inside the one before says nothing new
            runs.append((first, last))
    return [(ranks[first], ranks[last]) for first, last in runs]


def _height(found: Ranks) -> float:
    lines = (len(found.mean_ranks) + 1) // 2
    return 1.15 + STEP * lines + 0.14 * len(cliques(found.mean_ranks, found.critical_difference))


def _diagram(axes: Any, height: float, found: Ranks) -> None:
    ordered = sorted(found.mean_ranks.items(), key=lambda item: item[1])
    worst = len(ordered)
    margin = 0.45 * (worst - 1)  # room for the names on both sides
    axes.set_xlim(worst + margin, 1 - margin)
    axes.set_ylim(-height + 0.7, 0.5)
    axes.axis("off")
    _axis(axes, worst)
    _ruler(axes, worst, found.critical_difference)
    joined = cliques(found.mean_ranks, found.critical_difference)
    for level, (low, high) in enumerate(joined):
        depth = -0.12 - 0.14 * level
        axes.plot([low - 0.04, high + 0.04], [depth, depth], color=BAR, linewidth=4, solid_capstyle="round")
    top = -0.14 * len(joined) - 0.28
    right = ordered[: (worst + 1) // 2]
    for place, (method, rank) in enumerate(right):
        _label(axes, method, rank, top - STEP * place, edge=1 - 0.06 * margin, side="left")
    for place, (method, rank) in enumerate(reversed(ordered[len(right) :])):
        _label(axes, method, rank, top - STEP * place, edge=worst + 0.06 * margin, side="right")


def _axis(axes: Any, worst: int) -> None:
    axes.plot([1, worst], [0, 0], color=INK, linewidth=1.2)
    for rank in range(1, worst + 1):
        axes.plot([rank, rank], [0, 0.08], color=INK, linewidth=1.2)
        axes.text(rank, 0.11, str(rank), ha="center", va="bottom", fontsize=9)


def _ruler(axes: Any, worst: int, length: float) -> None:
    axes.plot([worst, worst - length], [0.4, 0.4], color=INK, linewidth=1.2, marker="|", markersize=7)
    axes.text(worst - length, 0.4, f"  CD {length:.2f}", ha="left", va="center", fontsize=9)


def _label(axes: Any, method: str, rank: float, depth: float, *, edge: float, side: str) -> None:
    axes.plot([rank, rank, edge], [0, depth, depth], color=INK, linewidth=0.9)
    shown = f" {method} ({rank:.2f})" if side == "left" else f"({rank:.2f}) {method} "
    axes.text(edge, depth, shown, ha=side, va="center", fontsize=9)
