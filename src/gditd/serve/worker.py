"""The one thread that long scoring runs in.

Scoring swaps tensors into a shared network, so a model may run in one thread at a time; and torch on one thread is what
small networks are fastest on. Pieces of large tables take turns here, and between two of them short work gets in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Result = TypeVar("_Result")


class Worker:
    """Runs one piece of work at a time; `on_free` is called in the event loop after each."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="gditd-scoring")
        self._turn = asyncio.Lock()
        self.busy = False
        self.on_free: Callable[[], None] = lambda: None

    async def run(self, work: Callable[[], _Result]) -> _Result:
        """Wait for a turn, then run the work in the thread."""
        async with self._turn:
            self.busy = True
            running = asyncio.wrap_future(self._pool.submit(work))
            try:
                return await asyncio.shield(running)
            finally:
                # A request that timed out is gone, but what it started must end before anything else begins.
                if not running.done():
                    await asyncio.wait([running])
                    running.exception()  # looked at, or asyncio would log it with what it says of the rows
                self.busy = False
                self.on_free()

    def close(self) -> None:
        """Let the thread end."""
        self._pool.shutdown(wait=False, cancel_futures=True)
