"""How the reference reads our docstrings: an extension of griffe, with which mkdocstrings reads the code.

Parameters are described on the line that names them, `alpha : the share of ...`, for the signature has their types.
Griffe would take that for a type, so the description moves to a line of its own. What follows a list of parameters
would be taken for one more of them, so it moves in front. References in the style of Sphinx become links.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", flags=re.MULTILINE)
ITEM = re.compile(r"(\w+(?:, \w+)*) : (.+)")
ROLE = re.compile(r":(?:class|func|meth|mod):`~?([\w.]+)`")


class PlainDocstrings(griffe.Extension):
    """Rewrites every docstring as it is loaded."""

    def on_object(self, *, obj: griffe.Object, loader: griffe.GriffeLoader, **_: Any) -> None:
        """Griffe calls this for every module, class, function and attribute."""
        del loader
        if obj.docstring:
            obj.docstring.value = rewritten(obj.docstring.value)


def rewritten(text: str) -> str:
    """The docstring as griffe and Markdown understand it."""
    intro, *rest = HEADING.split(ROLE.sub(reference, text))
    sections = []
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        items, remarks = (body, "") if title not in ("Parameters", "Attributes") else items_and_remarks(body)
        sections.append(f"{title}\n{'-' * len(title)}\n{items}")
        intro += remarks
    return intro + "\n".join(sections)


def items_and_remarks(body: str) -> tuple[str, str]:
    """The list with each description on a line of its own, and the paragraphs that are no part of it."""
    items: list[str] = []
    remarks: list[str] = []
    target: list[str] | None = None
    for line in body.splitlines():
        item = ITEM.fullmatch(line)
        if item:
            target = items
            items += [item[1], f"    {item[2]}"]
        elif line[:1].strip():
            target = remarks
            remarks.append(line)
        elif target is not None:
            target.append(line)
    return "\n".join(items) + "\n", "\n".join([*remarks, "", ""]) if remarks else ""


def reference(found: re.Match[str]) -> str:
    """A link to one of our own names, or the name as code; a name that the reference lacks stays plain."""
    name = found[1]
    if not name.startswith("gditd."):
        return f"`{name}`"
    return f'<autoref identifier="{name}" optional><code>{name.rpartition(".")[2]}</code></autoref>'
