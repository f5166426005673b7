"""One HTML page that needs nothing else: no script, no font, no file beside it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from gditd.bench.report.figures import Picture
from gditd.bench.report.formats import html, markdown, markdown_text
from gditd.bench.report.tables import Table

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
figure img { display: block; width: 100%; min-width: 40rem; max-width: 60rem; height: auto;
  background: #fff; border: 1px solid var(--line); }
figcaption { color: var(--faint); font-size: .875rem; }
"""


@dataclass(frozen=True)
class Section:
    """A part of a report: paragraphs, tables and pictures under one heading."""

    title: str
    blocks: Sequence[str | Table | Picture]


def page(title: str, context: Mapping[str, str], sections: Sequence[Section]) -> str:
    """The whole page."""
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>\n" for name, value in context.items())
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(title)}</h1>\n"
        + (f"<dl>\n{facts}</dl>\n" if facts else "")
        + "".join(_html_section(section) for section in sections)
        + "</main>\n</body>\n</html>\n"
    )


def markdown_page(title: str, context: Mapping[str, str], blocks: Sequence[str | Table | Picture]) -> str:
    """The same in Markdown; pictures are files beside it."""
    facts = "\n".join(f"- {markdown_text(name)}: {markdown_text(str(value))}" for name, value in context.items())
    parts = [f"# {markdown_text(title)}", facts, *(_markdown_block(block) for block in blocks)]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _html_section(section: Section) -> str:
    body = "".join(_html_block(block) for block in section.blocks)
    return f"<section>\n<h2>{escape(section.title)}</h2>\n{body}</section>\n"


def _html_block(block: str | Table | Picture) -> str:
    if isinstance(block, Table):
        return html(block)
    if isinstance(block, Picture):
        # As an image, for inlined drawings would share the names of their parts.
        data = base64.b64encode(block.svg).decode("ascii")
        caption = escape(block.caption)
        source = f"data:image/svg+xml;base64,{data}"
        return (
            f'<figure>\n<div class="scroll" tabindex="0" role="region" aria-label="{escape(block.name)}">\n'
            f'<img alt="{caption}" src="{source}">\n</div>\n<figcaption>{caption}</figcaption>\n</figure>\n'
        )
    return f"<p>{escape(block)}</p>\n"


def _markdown_block(block: str | Table | Picture) -> str:
    if isinstance(block, Table):
        return markdown(block)
    if isinstance(block, Picture):
        return f"![{markdown_text(block.caption)}]({block.name}.svg)"
    return markdown_text(block)
