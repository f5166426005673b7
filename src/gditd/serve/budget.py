"""How many bytes all requests may hold together: bodies, the tables they unpack to, and answers on their way.

Each of them is limited by itself, but many at once would still fill the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from gditd.serve.errors import Refusal

BODIES = 8  # of the largest size: a table may unpack to four times that, and its body is still there


class Budget:
    """Counts what is held; one request alone always fits, as its own limits have it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0

    @contextmanager
    def share(self) -> Iterator[Share]:
        """What one request holds, given back when it ends."""
        share = Share(self)
        try:
            yield share
        finally:
            self._taken -= share.taken

    def take(self, size: int, own: int) -> None:
        """Count bytes for a request that has `own` already; refuse them where others hold too much."""
        if self._taken + size > self._most and self._taken > own:
            raise Refusal(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "the service holds too many large tables: try again in a moment",
                headers={"retry-after": "1"},
            )
        self._taken += size


class Share:
    """What one request holds."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.taken = 0

    def take(self, size: int) -> None:
        """Hold more."""
        self._budget.take(size, self.taken)
        self.taken += size
