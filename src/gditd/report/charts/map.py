"""Circles of classes, and points among them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gditd.embedding_map import Circle
from gditd.report.charts.marks import Mark
from gditd.report.charts.style import colour
from gditd.report.charts.svg import element, picture, text

WIDTH = 640.0
MOST_HEIGHT = 640.0
EDGE = 12.0
SHORTEST_LABEL = 4  # fewer characters would say nothing

Points = NDArray[np.float64]


def map_chart(circles: Sequence[Circle], layers: Sequence[tuple[Mark, Points]], *, label: str) -> str:
    """Draw the circles, then the points (n, 2) of each layer; both directions have the same scale."""
    corners = [(c.x + side * c.radius, c.y + side * c.radius) for c in circles for side in (-1, 1)]
    everything = np.concatenate([np.array(corners), *(points for _, points in layers)])
    low, high = everything.min(axis=0), everything.max(axis=0)
    size = np.maximum(high - low, 1e-9)
    scale = float(min((WIDTH - 2 * EDGE) / size[0], (MOST_HEIGHT - 2 * EDGE) / size[1]))
    height = float(size[1]) * scale + 2 * EDGE
    shift = (WIDTH - float(size[0]) * scale) / 2

    def place(x: float, y: float) -> tuple[float, float]:
        return shift + (x - float(low[0])) * scale, height - EDGE - (y - float(low[1])) * scale

    parts, labels = [], []
    for number, circle in enumerate(circles):
        x, y = place(circle.x, circle.y)
        radius = circle.radius * scale
        parts.append(
            element("circle", cx=x, cy=y, r=radius, fill=colour(number), fill_opacity="0.08", stroke=colour(number))
        )
        room = int(radius / 3.4)  # in characters
        if room >= SHORTEST_LABEL:
            labels.append(text(x, y + 4, circle.label, anchor="middle", css="halo", longest=room))
    parts += [mark.at([place(x, y) for x, y in points.tolist()]) for mark, points in layers]
    return picture(WIDTH, height, label, "\n".join(parts + labels), css="map")
