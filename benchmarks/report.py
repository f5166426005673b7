"""What the benchmarks have in common: two options, tables in Markdown, and where the results go."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Results = list[dict[str, Any]]


def parser_for(description: str | None) -> argparse.ArgumentParser:
    """A parser with --out and --json."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the table here as Markdown")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def markdown(headings: list[str], rows: Iterable[Iterable[object]], *, texts: Iterable[str] = ()) -> str:
    """A table; numbers stand to the right, the first column and those named in `texts` to the left."""
    left = {headings[0], *texts}
    lines = [headings, ["---" if heading in left else "---:" for heading in headings], *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def report(results: Results, as_markdown: Callable[[Results], str], arguments: argparse.Namespace) -> None:
    """Print the results, and write them where asked for."""
    print(json.dumps(results) if arguments.json else as_markdown(results))
    if arguments.out:
        arguments.out.write_text(as_markdown(results))
