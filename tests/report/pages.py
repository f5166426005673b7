"""A page as the tests look at it: its elements, its text, its tables, and that it needs nothing else."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "br"}
SECTIONS = {
    "result": "The result in short",
    "data": "Data and class balance",
    "training": "Training curves",
    "map": "Map of the classes",
    "scores": "OOD scores by class",
    "alarms": "False alarms, promised and measured",
    "curves": "ROC and precision-recall",
    "confusion": "Confusion of known classes",
    "flagged": "Rows called OOD, strangest first",
    "drift": "Columns that drifted",
}


class Page(HTMLParser):
    """Reads a page, and fails where elements do not close in order."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.words: list[str] = []
        self._caption, self._row = "", []
        self.feed(self.source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "caption":
            self._caption = ""
        if tag == "tr":
            self._row = []
        if tag in ("td", "th"):
            self._row.append("")

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag == "tr":
            self.tables.setdefault(self._caption, []).append(self._row)

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.words.append(data)
        if "caption" in self.open:
            self._caption += data
        elif "td" in self.open or "th" in self.open:
            self._row[-1] += data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def anchors(self) -> list[str]:
        return [attrs["id"] for tag, attrs in self.elements if tag == "section" and attrs.get("id")]

    def values(self) -> list[float]:
        """The exact figures, in the order of the page."""
        return [float(attrs["value"]) for tag, attrs in self.elements if tag == "data"]


def read(path: Path) -> Page:
    """Read a page that must be sound: nothing from outside, no script, charts with words, tables with headings."""
    page = Page(path)
    tags = [tag for tag, _ in page.elements]
    assert not {"script", "link", "iframe", "img", "object", "use"} & set(tags)
    for _, attrs in page.elements:
        assert not any(name.startswith("on") for name in attrs)
        assert attrs.get("href", "#").startswith("#")
        assert "src" not in attrs
    assert not re.search(r"https?://|@import|url\(", page.source)
    drawings = [attrs for tag, attrs in page.elements if tag == "svg" and not attrs.get("aria-hidden")]
    assert drawings
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in drawings)
    assert tags.count("figure") == tags.count("figcaption") == len(drawings)
    assert tags.count("table") == tags.count("caption")
    assert not re.search(r"\b(nan|inf|None)\b(?! of)", page.text), "no figure that is none"
    linked = [attrs["href"].removeprefix("#") for tag, attrs in page.elements if tag == "a"]
    assert linked == page.anchors
    for anchor, title in SECTIONS.items():
        assert anchor in page.anchors or f"{title}: " in page.text.split("Not in this report")[-1]
    return page
