"""The frame of every HTML page that is written: one file that needs nothing else, light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --faint: #59636e; --line: #d1d9e0; --shade: #f6f8fa; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --paper: #14171a; --faint: #9aa4ae; --line: #3a424a; --shade: #1d2226; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.2; }
h2 { margin-top: 2.5rem; font-size: 1.25rem; border-bottom: 1px solid var(--line); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; }
dt { color: var(--faint); }
dd { margin: 0; min-width: 0; font-family: ui-monospace, monospace; font-size: .9rem; }
.scroll { overflow-x: auto; margin-top: 1.25rem; overflow-wrap: normal; }
.scroll:focus-visible { outline: 2px solid #4c8dd6; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .4rem; }
th, td { padding: .25rem .6rem; white-space: nowrap; }
th { text-align: left; vertical-align: top; font-weight: 500; }
td, thead th { text-align: right; }
thead th { background: var(--shade); border-bottom: 2px solid var(--line); }
thead th.label { text-align: left; }
tr.group > *, tbody tr:first-child > * { border-top: 1px solid var(--line); }
tbody tr:last-child > * { border-bottom: 1px solid var(--line); }
.note { margin: .4rem 0; color: var(--faint); font-size: .875rem; }
figure { margin: 1.25rem 0; }
figcaption { color: var(--faint); font-size: .875rem; }
"""


def document(title: str, body: str, *, style: str = "") -> str:
    """The whole page; `body` is HTML, and `style` comes on top of what every page has."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(title)}</h1>\n{body}</main>\n</body>\n</html>\n"
    )


def fact_list(facts: Mapping[str, str]) -> str:
    """Names and values, one below the other."""
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>\n" for name, value in facts.items())
    return f"<dl>\n{items}</dl>\n" if items else ""


def section(title: str, body: str, *, anchor: str | None = None) -> str:
    """A part of the page under its heading."""
    place = "" if anchor is None else f' id="{escape(anchor)}"'
    return f"<section{place}>\n<h2>{escape(title)}</h2>\n{body}</section>\n"


def scroll_box(label: str, inner: str) -> str:
    """A box that scrolls by itself where the page is narrow, by keyboard too."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">\n{inner}</div>\n'


def paragraph(text: str) -> str:
    """One paragraph of plain text."""
    return f"<p>{escape(text)}</p>\n"


def note(text: str) -> str:
    """A remark in small print."""
    return f'<p class="note">{escape(text)}</p>\n'
