"""A drawing with its title, legend and caption."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from gditd.report.charts.marks import Mark

LEGEND_LINE = '<path d="M0 7h22" stroke="{}" stroke-width="2" fill="none"{}/>'


def figure(title: str, drawing: str, caption: str, *, key: str = "", wide: bool = False) -> str:
    """A figure for the page; `key` is its legend."""
    css = "chart wide" if wide else "chart"
    return (
        f'<figure class="{css}">\n<p class="title">{escape(title)}</p>\n{drawing}{key}'
        f"<figcaption>{escape(caption)}</figcaption>\n</figure>\n"
    )


def side_by_side(figures: Iterable[str]) -> str:
    """Figures in columns, as many as the page is wide enough for."""
    return f'<div class="charts">\n{"".join(figures)}</div>\n'


def legend(entries: Sequence[tuple[str, str]]) -> str:
    """A list of (sample of a mark or line, words)."""
    items = "".join(
        f'<li><svg viewBox="0 0 22 14" aria-hidden="true">{sample}</svg>{escape(words)}</li>\n'
        for sample, words in entries
    )
    return f'<ul class="legend">\n{items}</ul>\n' if items else ""


def mark_sample(mark: Mark) -> str:
    """A mark for a legend."""
    return mark.at([(11, 7)])


def line_sample(colour: str, dash: str = "") -> str:
    """A piece of a line for a legend."""
    return LEGEND_LINE.format(colour, f' stroke-dasharray="{dash}"' if dash else "")
