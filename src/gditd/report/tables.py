"""Tables of a report: text to the left, numbers to the right, and shades for shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from gditd.report.page import note, scroll_box

TABLE_STYLE = """
caption span { display: block; position: sticky; left: 0; max-width: min(72rem, 100vw - 2rem); width: max-content; }
td.text { text-align: left; }
td.long { white-space: normal; min-width: 17rem; }
td.text ul { margin: 0; padding-left: 1rem; }
td { vertical-align: top; }
thead th.text { text-align: left; }
thead th { vertical-align: bottom; }
tbody th.long { white-space: normal; min-width: 12rem; }
td.shaded { background: color-mix(in srgb, var(--c0) calc(var(--share) * 55%), transparent); }
@media (max-width: 36rem) { .few td.text { white-space: normal; min-width: 8rem; } }
tbody tr:nth-child(even) { background: color-mix(in srgb, var(--shade) 60%, transparent); }
"""


LONG = 60  # characters
FEW_COLUMNS = 3  # a table of so many fits a telephone if its words are broken into lines


@dataclass(frozen=True)
class Text:
    """Words, or several pieces of them one below the other; long ones are broken into lines."""

    pieces: Sequence[str]

    @property
    def css(self) -> str:
        """The class of its cell."""
        return "text long" if max(map(len, self.pieces)) > LONG else "text"


@dataclass(frozen=True)
class Figure:
    """A number in words, with its exact value for programs that read the page."""

    words: str
    value: float | None


@dataclass(frozen=True)
class Shaded:
    """A number whose cell is the darker the larger its share of 1."""

    words: str
    share: float


Cell = str | Text | Figure | Shaded


def table(caption: str, headings: Sequence[str], rows: Sequence[Sequence[Cell]], *, notes: Sequence[str] = ()) -> str:
    """A table whose first column names the rows."""
    # A column is headed as it is filled.
    kinds = [isinstance(cell, Text) for cell in rows[0]] if rows else [False] * len(headings)
    kinds[:1] = [True]
    heads = "".join(
        f'<th scope="col" class="{"text" if words else "number"}">{escape(heading)}</th>'
        for heading, words in zip(headings, kinds, strict=True)
    )
    body = "".join(
        f'<tr><th scope="row"{broken(first)}>{inner(first)}</th>{"".join(data_cell(cell) for cell in others)}</tr>\n'
        for first, *others in rows
    )
    size = ' class="few"' if len(headings) <= FEW_COLUMNS else ""
    whole = (
        f"<table{size}>\n<caption><span>{escape(caption)}</span></caption>\n<thead><tr>{heads}</tr></thead>\n"
        f"<tbody>\n{body}</tbody>\n</table>\n"
    )
    return scroll_box(caption, whole) + "".join(note(words) for words in notes)


def broken(first: Cell) -> str:
    """The class of a row's name that is too long for one line."""
    return ' class="long"' if isinstance(first, str) and len(first) > LONG // 3 else ""


def data_cell(cell: Cell) -> str:
    """A cell that is no heading."""
    if isinstance(cell, Text):
        return f'<td class="{cell.css}">{inner(cell)}</td>'
    if isinstance(cell, Shaded):
        return f'<td class="shaded" style="--share: {cell.share:.3f}">{inner(cell)}</td>'
    return f"<td>{inner(cell)}</td>"


def inner(cell: Cell) -> str:
    """What stands in a cell."""
    if isinstance(cell, str):
        return escape(cell)
    if isinstance(cell, Text):
        pieces = [escape(piece) for piece in cell.pieces]
        return pieces[0] if len(pieces) == 1 else "<ul>" + "".join(f"<li>{piece}</li>" for piece in pieces) + "</ul>"
    if isinstance(cell, Figure) and cell.value is not None:
        return f'<data value="{cell.value!r}">{escape(cell.words)}</data>'
    return escape(cell.words)
