"""Draw the pictures of the documentation: `python docs/pictures/draw.py` writes them beside this file.

They are narrow, so that a telephone can show them, and take their colours from the page they stand in.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np

WIDTH = 440
ALPHA = 0.1  # in the picture of the p-values: large, so that few rows are enough to show it

LIGHT = {
    "ink": "#1f2933",
    "soft": "#5b6673",
    "line": "#9aa5b1",
    "box": "#eef2f4",
    "a": "#0072b2",
    "b": "#008561",
    "c": "#a64d8c",
    "ood": "#b23a00",
}
DARK = {
    "ink": "#e8ebee",
    "soft": "#a9b4c0",
    "line": "#66717d",
    "box": "#2d323c",
    "a": "#56b4e9",
    "b": "#35c79b",
    "c": "#e29bcd",
    "ood": "#ff9a57",
}


def colours(values: dict[str, str]) -> str:
    """CSS variables."""
    return "{" + "".join(f"--{name}:{value};" for name, value in values.items()) + "}"


STYLE = f"""
.drawing {colours(LIGHT)}
@media (prefers-color-scheme: dark) {{ .drawing {colours(DARK)} }}
[data-md-color-scheme="default"] .drawing {colours(LIGHT)}
[data-md-color-scheme="slate"] .drawing {colours(DARK)}
.drawing text {{ font: 14px system-ui, sans-serif; fill: var(--ink); }}
.drawing .small {{ font-size: 13px; fill: var(--soft); }}
.drawing .strong {{ font-weight: 600; }}
.drawing .middle {{ text-anchor: middle; }}
.drawing .end {{ text-anchor: end; }}
"""


def text(x: float, y: float, words: str, classes: str = "", colour: str | None = None) -> str:
    """Words at a place."""
    fill = f' style="fill:var(--{colour})"' if colour else ""
    return f'<text x="{x:g}" y="{y:g}" class="{classes}"{fill}>{escape(words)}</text>'


def dot(x: float, y: float, colour: str, radius: float = 3.5) -> str:
    """A known row."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" style="fill:var(--{colour})"/>'


def cross(x: float, y: float, colour: str = "ood", arm: float = 5) -> str:
    """A row of no known class."""
    strokes = f"M{x - arm:.1f} {y - arm:.1f}l{2 * arm} {2 * arm}m0 {-2 * arm}l{-2 * arm} {2 * arm}"
    return f'<path d="{strokes}" style="stroke:var(--{colour});stroke-width:2.2;fill:none"/>'


Point = tuple[float, float]


def line(start: Point, end: Point, colour: str = "line", dash: str = "none") -> str:
    """A straight line."""
    ends = f'x1="{start[0]:g}" y1="{start[1]:g}" x2="{end[0]:g}" y2="{end[1]:g}"'
    return f'<line {ends} style="stroke:var(--{colour});stroke-dasharray:{dash};stroke-width:1.5"/>'


def box(corner: Point, width: float, height: float, colour: str) -> str:
    """A rounded box."""
    size = f'x="{corner[0]:g}" y="{corner[1]:g}" width="{width:g}" height="{height:g}"'
    return f'<rect {size} rx="7" style="fill:var(--box);stroke:var(--{colour});stroke-width:1.5"/>'


def pipeline() -> tuple[float, list[str]]:
    """From a raw table to a verdict, step by step."""
    steps = (
        ("read", "numbers, categories, dates, gaps,", "columns in any order"),
        ("encode", "each row as numbers that a network takes;", "what was never seen gets a mark of its own"),
        ("embed", "networks put each row at a point;", "rows of a class come to lie together"),
        ("describe", "a centre and a radius for each class:", "how far outside each sphere is the row?"),
        ("calibrate", "compared with known rows that were", "kept aside: a p-value for each class"),
        ("verdict", "the class that fits,", "or OOD if none does"),
    )
    step, height = 68.0, 46.0
    parts = []
    for number, (name, first, second) in enumerate(steps):
        y = 8 + number * step
        last = number == len(steps) - 1
        parts += [
            box((8, y), 104, height, "ood" if last else "a"),
            text(60, y + 28, name, "strong middle"),
            text(128, y + 19, first, "small"),
            text(128, y + 38, second, "small"),
        ]
        if not last:
            tip = y + step
            parts += [
                line((60, y + height), (60, tip - 6)),
                f'<path d="M55 {tip - 8:g}h10l-5 8z" style="fill:var(--line)"/>',
            ]
    return 16 + (len(steps) - 1) * step + height, parts


def spheres() -> tuple[float, list[str]]:
    """The embedding: three classes as spheres, and rows outside all of them."""
    rng = np.random.default_rng(4)
    classes = (
        ("a", "common class", 130, 120, 92, 60),
        ("b", "another class", 335, 100, 66, 26),
        ("c", "rare class", 285, 240, 42, 8),
    )
    parts = []
    for colour, name, x, y, radius, count in classes:
        style = f"fill:var(--{colour});fill-opacity:.12;stroke:var(--{colour});stroke-width:1.8"
        parts.append(f'<circle cx="{x}" cy="{y}" r="{radius}" style="{style}"/>')
        angle, far = rng.uniform(0, 2 * np.pi, count), radius * 0.82 * np.sqrt(rng.random(count))
        parts += [dot(x + r * np.cos(t), y + r * np.sin(t), colour, 3) for t, r in zip(angle, far, strict=True)]
        parts.append(text(x, y - radius - 8, name, "middle strong", colour))
    parts += [cross(x, y) for x, y in ((48, 262), (74, 282), (36, 290), (92, 256), (400, 235), (236, 36))]
    parts.append(text(108, 287, "a new kind:", "small", "ood"))
    parts.append(text(108, 304, "outside every sphere, so OOD", "small", "ood"))
    parts += [dot(40, 341, "a"), text(52, 346, "known rows", "small")]
    parts += [cross(170, 341), text(182, 346, "rows of no known class", "small")]
    return 358, parts


def p_values() -> tuple[float, list[str]]:
    """Two new rows beside the rows that calibrate one class."""
    strangeness = np.sort(np.random.default_rng(3).gamma(3.0, 0.12, 19))
    axis, left, right = 128.0, 20.0, 430.0
    parts = [
        text(left, 22, "How strange for class A?", "strong"),
        line((left, axis), (right - 8, axis)),
        f'<path d="M{right - 10:g} {axis - 5:g}v10l10 -5z" style="fill:var(--line)"/>',
        text(left, axis + 24, "19 rows of A, kept aside", "small", "a"),
    ]
    parts += [dot(place(value), axis, "a", 4.5) for value in strangeness]
    ordinary, strange = float(np.mean(strangeness[12:14])), 1.05
    for value, colour, name, y in (
        (ordinary, "c", "An ordinary new row", 58),
        (strange, "ood", "A strange new row", 196),
    ):
        beyond = int(np.sum(strangeness >= value))
        p = (1 + beyond) / (len(strangeness) + 1)
        verdict = f"p < {ALPHA:g}: not A" if p < ALPHA else f"p ≥ {ALPHA:g}: may be A"
        as_strange = f"{beyond} rows are" if beyond else "no row is"
        below = y > axis
        parts += [
            cross(place(value), axis, colour),
            line((place(value), y - 18 if below else y + 30), (place(value), axis), colour, "3 3"),
            text(right if below else left, y, f"{name}: {as_strange} as strange", f"strong {'end' * below}", colour),
            text(
                right if below else left,
                y + 20,
                f"p = (1 + {beyond}) / (19 + 1) = {p:g};  {verdict}",
                f"small {'end' * below}",
            ),
        ]
    parts.append(text(left, 258, f"Alpha is {ALPHA:g} here. OOD means: p < alpha for every class.", "small"))
    return 272, parts


def place(strangeness: float) -> float:
    """Where a row lies on the axis of `p_values`."""
    return 20 + 330 * strangeness


def rare() -> tuple[float, list[str]]:
    """Which classes are calibrated alone, and which together."""
    needed, scale, left = 20, 5.2, 92
    classes = (("A", 60, "a"), ("B", 34, "a"), ("C", 13, "b"), ("D", 6, "b"), ("E", 2, "b"))
    top, step = 52.0, 40.0
    bottom = top + step * len(classes)
    parts = [
        text(20, 22, "Rows that calibrate each class, alpha 0.05", "strong"),
        line((left + needed * scale, 40), (left + needed * scale, bottom), "ood", "4 4"),
    ]
    for number, (name, count, colour) in enumerate(classes):
        y = top + number * step
        style = f"fill:var(--{colour});fill-opacity:.75"
        parts += [
            text(20, y + 18, f"class {name}"),
            f'<rect x="{left}" y="{y:g}" width="{count * scale:g}" height="24" rx="3" style="{style}"/>',
            text(left + count * scale + 6, y + 17, str(count), "small"),
        ]
    y = top + 2 * step
    x = left + needed * scale + 22
    parts += [
        f'<path d="M{x} {y:g}h10v{3 * step - 16:g}h-10" style="fill:none;stroke:var(--b);stroke-width:1.5"/>',
        text(x + 20, y + 42, "13 + 6 + 2 = 21 rows:", "small", "b"),
        text(x + 20, y + 60, "calibrated together", "small", "b"),
        text(left + needed * scale, bottom + 20, "20 rows are needed", "small middle", "ood"),
    ]
    return bottom + 34, parts


def drawn(height: float, parts: list[str]) -> str:
    """The whole drawing."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" viewBox="0 0 {WIDTH} {height:g}">'
    return "\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>\n"])


def main() -> None:
    """Write every picture."""
    folder = Path(__file__).parent
    for draw in (pipeline, spheres, p_values, rare):
        name = draw.__name__.replace("_", "-")
        (folder / f"{name}.svg").write_text(drawn(*draw()), encoding="utf-8")


if __name__ == "__main__":
    main()
