"""Put the examples and what they print into their pages: `make examples`, with GDITD_DATA naming the data folder.

A page of docs/examples holds a `python` block, which is the script as it is, and a `text` block, its output. Both are
replaced; what stands around them is written by hand and stays.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "examples"
PAGES = ROOT / "docs" / "examples"
CLIENTS = "*_client.py"  # work with a file that they are given, and have no page of their own


def scripts() -> list[Path]:
    """The examples that have a page."""
    return sorted(set(SCRIPTS.glob("*.py")) - set(SCRIPTS.glob(CLIENTS)))


def page_of(script: Path) -> Path:
    """The page that shows a script."""
    return PAGES / f"{script.stem.replace('_', '-')}.md"


def block(text: str, kind: str) -> str:
    """What the one block of a kind holds on a page."""
    (found,) = re.findall(rf"^```{kind}\n([\s\S]*?)^```$", text, flags=re.MULTILINE)
    return str(found)


def with_block(text: str, kind: str, content: str) -> str:
    """The page with other content in its block."""
    return text.replace(f"```{kind}\n{block(text, kind)}```", f"```{kind}\n{content}```")


def output_of(script: Path) -> str:
    """What a script prints, run on one core."""
    one_core = {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, script], env=os.environ | one_core, stdout=subprocess.PIPE, check=True)
    return "\n".join(line.rstrip() for line in done.stdout.decode().splitlines()) + "\n"


def main() -> None:
    """Run every example and renew its page."""
    for script in scripts():
        start = time.perf_counter()
        output = output_of(script)
        page = page_of(script)
        text = with_block(page.read_text(encoding="utf-8"), "python", script.read_text(encoding="utf-8"))
        page.write_text(with_block(text, "text", output), encoding="utf-8")
        print(f"{page.relative_to(ROOT)}: {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
