"""Lines over a common pair of axes, with single points marked on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gditd.report.charts.axis import LogScale, Scale, bottom_axis, left_axis
from gditd.report.charts.marks import SHAPES, Mark
from gditd.report.charts.svg import WIDTH, element, number, picture

LEFT, RIGHT, TOP, BOTTOM = 52.0, 10.0, 26.0, 40.0
HEIGHT = 280.0
LOG_FROM = 50.0  # values that differ by this factor are shown on a logarithmic axis


@dataclass(frozen=True)
class Line:
    """Points to join; `dash` as SVG has it, for lines of another kind."""

    points: Sequence[tuple[float, float]]
    colour: str
    dash: str = ""


def lines(
    drawn: Sequence[Line],
    *,
    title: str,
    axes: tuple[str, str],
    unit_square: bool = False,
    marked: Sequence[tuple[Mark, tuple[float, float]]] = (),
) -> str:
    """Draw lines; `axes` names both, and a unit square runs from 0 to 1 both ways."""
    xs = [x for each in drawn for x, _ in each.points]
    ys = [y for each in drawn for _, y in each.points]
    logarithmic = not unit_square and min(ys) > 0 and max(ys) / min(ys) > LOG_FROM
    x_low, x_high = (0.0, 1.0) if unit_square else (min(xs), max(xs))
    y_low, y_high = (0.0, 1.0) if unit_square else (min(ys) if logarithmic else min(0.0, *ys), max(ys))
    across = Scale(x_low, x_high, LEFT, WIDTH - RIGHT)
    up = (LogScale if logarithmic else Scale)(y_low, y_high, HEIGHT - BOTTOM, TOP)
    parts = [
        bottom_axis(across, TOP, HEIGHT - BOTTOM, axes[0]),
        left_axis(up, LEFT, WIDTH - RIGHT, axes[1] + (" (logarithmic)" if logarithmic else "")),
    ]
    for each in drawn:
        if len(each.points) == 1:  # one epoch is no line
            parts.append(Mark(SHAPES[0], each.colour).at([(across(x), up(y)) for x, y in each.points]))
        path = "M" + "L".join(f"{number(across(x))} {number(up(y))}" for x, y in each.points)
        looks = {"stroke_dasharray": each.dash} if each.dash else {}
        parts.append(element("path", d=path, fill="none", stroke=each.colour, stroke_width="1.75", **looks))
    parts += [mark.at([(across(x), up(y))]) for mark, (x, y) in marked]
    return picture(WIDTH, HEIGHT, f"Line chart. {title}.", "".join(parts))
