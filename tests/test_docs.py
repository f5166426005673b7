"""Every python block in the README and in docs/ runs; the blocks of a page share one namespace."""

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"(?P<not_run>^ *<!-- not run: \S.* -->\n)?^(?P<indent> *)```python\b.*\n(?P<code>[\s\S]*?)^(?P=indent)```$",
    flags=re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """One python block: its number on the page, the line it starts on, and its text."""

    number: int
    line: int
    code: str


def blocks_to_run(text: str) -> list[Block]:
    """Find the python blocks of a page, those marked `<!-- not run: reason -->` left out."""
    return [
        Block(number, text.count("\n", 0, found.start("code")), dedent(found["code"]))
        for number, found in enumerate(BLOCK.finditer(text), start=1)
        if not found["not_run"]
    ]


def run_page(name: str, text: str) -> None:
    """Run the blocks in order; AssertionError names the page and the block that failed."""
    namespace = {"__name__": "__main__"}
    for block in blocks_to_run(text):
        padding = "\n" * block.line  # so that a traceback shows the page's own line numbers
        try:
            exec(compile(padding + block.code, name, "exec"), namespace)
        except Exception as error:
            raise AssertionError(
                f"{name}: python block {block.number} (line {block.line}) failed: {error!r}"
            ) from error


def pages() -> dict[str, str]:
    """Return the pages that have blocks to run, by their path from the root."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in found}
    return {name: text for name, text in texts.items() if blocks_to_run(text)}


PAGES = pages()


@pytest.mark.parametrize("page", PAGES)
def test_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page, PAGES[page])


EXAMPLE = """
```python
x = 1
```

<!-- not run: needs a cluster -->
```python
x = 2
```
```console
$ x = 3
```
<!-- not run: -->
```python
x += 10
```
<!-- not run: only the block right after it -->

```python
assert x == 11
assert x == 12
```
"""


def test_finds_blocks_and_leaves_marked_ones_out():
    assert [(block.number, block.line) for block in blocks_to_run(EXAMPLE)] == [(1, 2), (3, 14), (4, 19)]
    in_a_list = "- So:\n  ```python\n  if True:\n      x = 1\n  ```\n"
    assert [block.code for block in blocks_to_run(in_a_list)] == ["if True:\n    x = 1\n"]
    assert blocks_to_run("# Title\n```\nx = 1\n```\n```bash\nls\n```\n") == []


def test_a_failing_block_is_named():
    with pytest.raises(
        AssertionError, match=r"^page\.md: python block 4 \(line 19\) failed: AssertionError"
    ) as failure:
        run_page("page.md", EXAMPLE)
    in_the_block = failure.value.__cause__.__traceback__.tb_next
    assert EXAMPLE.splitlines()[in_the_block.tb_lineno - 1] == "assert x == 12"
