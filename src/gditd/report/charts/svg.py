"""SVG elements as text, with everything that came from a table escaped."""

from __future__ import annotations

from html import escape

WIDTH = 440.0  # of the usual chart, in the units of its text: about right on a telephone and beside another chart
LONGEST_LABEL = 20


def number(value: float) -> str:
    """A coordinate, short."""
    return f"{value:.1f}".removesuffix(".0")


def element(name: str, inner: str = "", **attributes: str | float) -> str:
    """An element; attributes are named with _ in the place of -, and `css` is its class."""
    written = "".join(
        f' {"class" if key == "css" else key.replace("_", "-")}="{value if isinstance(value, str) else number(value)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{written}>{inner}</{name}>"


def text(x: float, y: float, words: str, *, anchor: str = "start", css: str = "", longest: int | None = None) -> str:
    """Words at a place; those that are too long are cut, and whole in a tooltip."""
    shown = words if longest is None or len(words) <= longest else words[: longest - 1] + "…"
    inner = escape(shown) if shown == words else f"{escape(shown)}<title>{escape(words)}</title>"
    looks = {"css": css} if css else {}
    return element("text", inner, x=x, y=y, text_anchor=anchor, **looks)


def line(x1: float, y1: float, x2: float, y2: float, css: str) -> str:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, css=css)


def limit(x: float, top: float, bottom: float) -> str:
    """A limit to keep: a dashed line upright, on a strip of paper that keeps it visible over any colour."""
    return line(x, top, x, bottom, "limit-back") + line(x, top, x, bottom, "limit")


def picture(width: float, height: float, label: str, inner: str, *, css: str = "plain") -> str:
    """A whole drawing; `label` says in words what it shows, for those who do not see it."""
    size = f'viewBox="0 0 {number(width)} {number(height)}"'
    return f'<svg class="{css}" {size} role="img" aria-label="{escape(label)}">\n{inner}\n</svg>\n'
