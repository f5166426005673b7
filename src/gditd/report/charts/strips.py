"""Histograms one below the other over a common axis, each with its own limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gditd.report.charts.axis import Scale, bottom_axis
from gditd.report.charts.svg import WIDTH, element, limit, line, number, picture, text

ROW, GRAPH = 54.0, 32.0  # of each strip, and of the histogram in it
EDGE = 12.0
ACROSS = (EDGE, WIDTH - EDGE)
N_BINS = 40


@dataclass(frozen=True, eq=False)
class Strip:
    """One histogram: what it is of, the values, the limit to mark, and what to say of it."""

    label: str
    values: NDArray[np.floating]
    colour: str
    words: str
    limit: float | None = None


def strips(items: Sequence[Strip], scale: Scale, *, title: str, axis: str) -> str:
    """Draw histograms of values, each as high as its own fullest bin; the scale is made with `ACROSS`."""
    edges = np.linspace(scale.start, scale.end, N_BINS + 1)
    bottom = ROW * len(items)
    parts = [bottom_axis(scale, 0, bottom, axis)]
    for place, strip in enumerate(items):
        floor = place * ROW + ROW - 4
        counts = np.histogram(scale.places(strip.values.astype(np.float64)), edges)[0]
        parts += [
            element("path", d=steps(counts, edges, floor), fill=strip.colour, fill_opacity="0.6"),
            line(EDGE, floor, WIDTH - EDGE, floor, "frame"),
            text(EDGE, floor - GRAPH - 4, strip.label, css="halo", longest=28),
            text(WIDTH - EDGE, floor - GRAPH - 4, strip.words, anchor="end", css="faint halo"),
        ]
        if strip.limit is not None:
            parts.append(limit(scale(strip.limit), floor - GRAPH, floor))
    said = "; ".join(f"{strip.label}: {strip.words}" for strip in items)
    return picture(WIDTH, bottom + 40, f"Histograms. {title}: {said}.", "".join(parts))


def steps(counts: NDArray[np.int64], edges: NDArray[np.float64], floor: float) -> str:
    """The outline of a histogram."""
    tallest = max(int(counts.max()), 1)
    path = [f"M{number(edges[0])} {number(floor)}"]
    for count, right in zip(counts.tolist(), edges[1:].tolist(), strict=True):
        # One row among thousands still shows.
        height = max(GRAPH * count / tallest, 1.5) if count else 0.0
        path.append(f"V{number(floor - height)}H{number(right)}")
    return "".join([*path, f"V{number(floor)}Z"])
