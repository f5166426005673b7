"""An empty figure, the look of what is drawn on it, and the figure as a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from gditd.atomic import write_atomically

# Okabe and Ito's colours, told apart by colour-blind readers; without their yellow, which white paper swallows.
COLOURS = ("#0072B2", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#8C6D31", "#000000")
RED = "#D55E00"  # the paper draws its own method in red
MARKERS = ("o", "s", "^", "D", "v", "P", "<", ">", "*")
DPI = 150


class PlottingMissingError(ImportError):
    """matplotlib is not installed."""


@dataclass(frozen=True)
class Style:
    """What tells one series from another: by colour and, for those who do not see it, by marker."""

    colour: str
    marker: str


@dataclass(frozen=True)
class Picture:
    """A drawn figure: the name of its files, what it shows, and its two formats."""

    name: str
    caption: str
    svg: bytes
    png: bytes

    def write(self, folder: Path) -> list[Path]:
        """Write both formats and return their paths."""
        files = {folder / f"{self.name}.svg": self.svg, folder / f"{self.name}.png": self.png}
        for path, data in files.items():
            write_atomically(path, partial(_write, data))
        return list(files)


def new_figure(width: float, height: float) -> Any:
    """A matplotlib figure of so many inches that belongs to no window and to no global state."""
    return _matplotlib("matplotlib.figure").Figure(figsize=(width, height), layout="constrained", facecolor="white")


def line(style: Style, **more: Any) -> Any:
    """A line for a legend."""
    return _matplotlib("matplotlib.lines").Line2D([], [], color=style.colour, marker=style.marker, **more)


def picture(figure: Any, name: str, caption: str) -> Picture:
    """The figure as SVG and PNG, the same bytes for the same drawing."""
    # SVG names its parts at random, and writes the date, unless told otherwise.
    with _matplotlib("matplotlib").rc_context({"svg.hashsalt": name}):
        svg = _saved(figure, format="svg", dpi=DPI, metadata={"Date": None, "Creator": None})
    return Picture(name, caption, svg, _saved(figure, format="png", dpi=DPI, metadata={"Software": None}))


def styles(names: Sequence[str], highlighted: str | None = None) -> dict[str, Style]:
    """A colour and a marker for each name; red dots for the highlighted one alone."""
    first = [name for name in names if name == highlighted]
    others = [name for name in names if name != highlighted]
    colours = COLOURS if first else (RED, *COLOURS)
    markers = MARKERS[1:] if first else MARKERS
    looks = {name: Style(colours[i % len(colours)], markers[i % len(markers)]) for i, name in enumerate(others)}
    return looks | {name: Style(RED, MARKERS[0]) for name in first}


def tidy_axes(axes: Any) -> None:
    """A faint grid behind what is drawn, and no box around it."""
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _saved(figure: Any, **options: Any) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, **options)
    return buffer.getvalue()


def _write(data: bytes, path: Path) -> None:
    path.write_bytes(data)


def _matplotlib(module: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise PlottingMissingError("figures need matplotlib: pip install 'gditd[plot]'") from error
