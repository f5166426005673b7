"""Horizontal bars, each with its label and its value in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gditd.report.charts.axis import Scale, bottom_axis
from gditd.report.charts.svg import LONGEST_LABEL, WIDTH, element, limit, picture, text

ROW = 22.0
LABELS, VALUES = 136.0, 108.0  # room for words on both sides


@dataclass(frozen=True)
class Bar:
    """A bar: what it stands for, its length, its value in words, and a limit to mark on it."""

    label: str
    value: float
    words: str
    limit: float | None = None


def bars(items: Sequence[Bar], *, title: str, unit: str, percent: bool = False) -> str:
    """Draw bars one below the other; `unit` names the axis, and per cent is written for shares."""
    height = ROW * len(items)
    largest = max([*(bar.value for bar in items), *(bar.limit or 0.0 for bar in items)]) or 1.0
    scale = Scale(0.0, largest, LABELS, WIDTH - VALUES)
    ticks = [(value, f"{100 * value:.3g} %") if percent else (value, label) for value, label in scale.ticks(4)]
    parts = [bottom_axis(scale, 0, height, unit, ticks)]
    for place, bar in enumerate(items):
        top = place * ROW
        end = max(scale(bar.value), LABELS + (1 if bar.value else 0))  # what is there at all shows
        parts += [
            text(LABELS - 8, top + 15, bar.label, anchor="end", longest=LONGEST_LABEL),
            element("rect", x=LABELS, y=top + 4, width=end - LABELS, height=ROW - 8, fill="var(--c0)"),
        ]
        if bar.limit is not None:
            parts.append(limit(scale(bar.limit), top + 1, top + ROW - 1))
        parts.append(text(max(end, scale(bar.limit or 0.0)) + 6, top + 15, bar.words, css="faint halo"))
    said = "; ".join(f"{bar.label}: {bar.words}" for bar in items)
    return picture(WIDTH, height + 40, f"Bar chart. {title}: {said}.", "".join(parts))
