"""What may come of any input: an answer, or an error that says in a line what is wrong and what to do."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TypeVar

_Result = TypeVar("_Result")

LONGEST = 2_000  # characters of a message, names of columns included

# How libraries speak when they meet what they did not expect.
UNREADABLE = (
    "Traceback",
    "object at 0x",
    "cannot convert float NaN",
    "not subscriptable",
    "has no attribute",
    "NoneType",
)


def answer_or_refusal(work: Callable[[], _Result]) -> _Result | str:
    """Return what the work gives, or the text of its refusal; anything else is a failure of the test."""
    try:
        return work()
    except ValueError as error:
        text = str(error)
        assert text.strip(), f"an error without words: {place_of(error)}"
        assert len(text) <= LONGEST, text
        assert not any(words in text for words in UNREADABLE), f"{text} ({place_of(error)})"
        return text


def place_of(error: BaseException) -> str:
    """Where an error came from."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}"
