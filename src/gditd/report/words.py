"""Numbers and names as a report writes them."""

from __future__ import annotations

from typing import Any

ABSENT = "\N{EN DASH}"
LONGEST_NAME = 80


def percent(share: float | None) -> str:
    """A share in per cent, or a dash where there is none."""
    return ABSENT if share is None else f"{100 * share:.1f} %"


def rows_text(count: int) -> str:
    """So many rows."""
    return "1 row" if count == 1 else f"{count:,} rows"


def columns_text(count: int) -> str:
    """So many columns."""
    return "1 column" if count == 1 else f"{count:,} columns"


def name(label: Any, longest: int = LONGEST_NAME) -> str:
    """A class, a column or a remark, in one line that is not too long."""
    text = " ".join(str(label).split()) or "(empty)"
    return text if len(text) <= longest else text[: longest - 1] + "…"


def listed(names: list[str], most: int = 5) -> str:
    """Names one after another, the last joined by "and"; of many, how many more there are."""
    shown = names if len(names) <= most else [*names[:most], f"{len(names) - most:,} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
