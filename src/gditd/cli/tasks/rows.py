"""The rows that `--rows` names."""

from __future__ import annotations

import re

PART = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")
MOST_ROWS = 100_000


def parse_rows(text: str) -> list[int]:
    """Read "1,5,10-12" as row numbers from 1, ascending and each once."""
    rows: set[int] = set()
    for part in text.split(","):
        match = PART.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if first < 1 or last < first:
            raise ValueError(f"--rows {text}: {part.strip()!r} is no row number from 1 and no range such as 10-12")
        if last - first >= MOST_ROWS:
            raise ValueError(f"--rows {text}: {part.strip()} are more than {MOST_ROWS:,} rows: ask for fewer")
        rows.update(range(first, last + 1))
    return sorted(rows)
