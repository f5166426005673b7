"""Which requests may be scored as one table.

A row's verdict must not depend on the company it comes in. Arrow gives a column one type: numbers beside texts become
texts, and whole floats are spelt differently beside others. So only requests whose columns hold the same kinds of
values are put together; the model's kinds say where the difference between 1 and 1.0 is none.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

# Values that Arrow turns into the same column whatever stands beside them.
_NUMBERS = {int: "number", float: "number", str: "text", bool: "boolean"}
_OTHERS = {int: "integer", str: "text", bool: "boolean"}  # a float's spelling as a category depends on its company
_NOTHING = type(None)
# What a column without any value goes with: null is the same beside whatever is usual there.
_USUAL = {"number": "number", "boolean": "boolean"}


def shape_of(rows: list[dict[str, Any]], kinds: Mapping[str, str]) -> Hashable | None:
    """What requests must have in common to be joined: names and kinds of values; None for rows that stay alone."""
    names = tuple(rows[0])
    if any(row.keys() != rows[0].keys() for row in rows):
        return None
    groups: list[str] = []
    for name in names:
        kind = kinds.get(name, "constant")
        if kind == "constant":  # not looked at
            groups.append("any")
            continue
        by_type = _NUMBERS if kind == "number" else _OTHERS
        group: str | None = None
        for row in rows:
            own = type(row[name])
            if own is _NOTHING:
                continue
            found = by_type.get(own)
            if found is None or (group is not None and found != group):
                return None
            group = found
        groups.append(group or _USUAL.get(kind, "text"))
    return names, tuple(groups)
