"""The worked examples run, and their pages show them as they are."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from docs.making.examples import PAGES, block, output_of, page_of, scripts, with_block

EXAMPLES = scripts()
WITHOUT_FILES = ("fraud_disputes",)


def headings(output: str) -> list[str]:
    """The parts of an output by their titles, without numbers, which another version of a model may change."""
    return [re.sub(r"\d", "0", line) for line in output.splitlines() if line.startswith("== ")]


def test_every_example_has_a_page() -> None:
    assert len(EXAMPLES) == 3
    assert sorted(PAGES.glob("*.md")) == sorted(page_of(script) for script in EXAMPLES)


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_the_page_shows_the_script(script: Path) -> None:
    page = page_of(script).read_text(encoding="utf-8")
    assert block(page, "python") == script.read_text(encoding="utf-8"), "run make examples"
    assert headings(block(page, "text")) != []


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_the_example_runs(script: Path) -> None:
    if script.stem not in WITHOUT_FILES and "GDITD_DATA" not in os.environ:
        pytest.skip("GDITD_DATA does not name a folder with real tables")
    printed = headings(output_of(script))
    assert printed == headings(block(page_of(script).read_text(encoding="utf-8"), "text")), "run make examples"


def test_blocks_are_found_and_replaced() -> None:
    page = "# A\n\n```text\nold\n```\n\n```python\nx = 1\n```\n"
    assert block(page, "python") == "x = 1\n"
    assert with_block(page, "text", "new\n") == "# A\n\n```text\nnew\n```\n\n```python\nx = 1\n```\n"
