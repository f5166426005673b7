"""One HTML page that needs nothing else: no script, no font, no file beside it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from gditd.bench.report.figures import Picture
from gditd.bench.report.formats import html, markdown, markdown_text
from gditd.bench.report.tables import Table
from gditd.report.page import document, fact_list, paragraph, scroll_box, section

PICTURE_STYLE = """
figure img { display: block; width: 100%; min-width: 40rem; max-width: 60rem; height: auto;
  background: #fff; border: 1px solid var(--line); }
"""


@dataclass(frozen=True)
class Section:
    """A part of a report: paragraphs, tables and pictures under one heading."""

    title: str
    blocks: Sequence[str | Table | Picture]


def page(title: str, context: Mapping[str, str], sections: Sequence[Section]) -> str:
    """The whole page."""
    body = fact_list(context) + "".join(_html_section(part) for part in sections)
    return document(title, body, style=PICTURE_STYLE)


def markdown_page(title: str, context: Mapping[str, str], blocks: Sequence[str | Table | Picture]) -> str:
    """The same in Markdown; pictures are files beside it."""
    facts = "\n".join(f"- {markdown_text(name)}: {markdown_text(str(value))}" for name, value in context.items())
    parts = [f"# {markdown_text(title)}", facts, *(_markdown_block(block) for block in blocks)]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _html_section(part: Section) -> str:
    return section(part.title, "".join(_html_block(block) for block in part.blocks))


def _html_block(block: str | Table | Picture) -> str:
    if isinstance(block, Table):
        return html(block)
    if isinstance(block, Picture):
        # As an image, for inlined drawings would share the names of their parts.
        data = base64.b64encode(block.svg).decode("ascii")
        caption = escape(block.caption)
        source = f"data:image/svg+xml;base64,{data}"
        image = scroll_box(block.name, f'<img alt="{caption}" src="{source}">\n')
        return f"<figure>\n{image}<figcaption>{caption}</figcaption>\n</figure>\n"
    return paragraph(block)


def _markdown_block(block: str | Table | Picture) -> str:
    if isinstance(block, Table):
        return markdown(block)
    if isinstance(block, Picture):
        return f"![{markdown_text(block.caption)}]({block.name}.svg)"
    return markdown_text(block)
