"""Small requests that wait at the same time are scored in one pass.

Nothing waits for company: a pass starts as soon as one look at the sockets brings no further request, and what arrives
while it runs makes up the next one. A pass of a few rows takes less time than handing it to a thread and back
would, so it runs in the event loop itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from gditd.serve.metrics import Metrics
from gditd.serve.models import Served
from gditd.serve.scoring import OnError, Verdicts
from gditd.serve.worker import Worker
from gditd.tables.convert import rows_to_arrow

SMALL_ROWS = 32  # a request of more rows is scored by itself, in the thread
PASS_ROWS = 256  # rows scored in one pass: a few milliseconds

Rows = list[dict[str, Any]]
Key = tuple[Served, float | None, OnError, Hashable | None]


@dataclass(eq=False)
class Waiting:
    """A request's rows, and where its verdicts go."""

    rows: Rows
    done: asyncio.Future[Verdicts]


class Batcher:
    """Collects small requests for the same model and options."""

    def __init__(self, worker: Worker, metrics: Metrics) -> None:
        self._worker, self._metrics = worker, metrics
        self._waiting: dict[Key, list[Waiting]] = {}
        self._looking = False
        self._new = False
        worker.on_free = self._run

    async def verdicts(self, served: Served, rows: Rows, *, alpha: float | None, on_error: OnError) -> Verdicts:
        """Score at most `SMALL_ROWS` rows, together with whatever else waits."""
        loop = asyncio.get_running_loop()
        waiting = Waiting(rows, loop.create_future())
        self._waiting.setdefault((served, alpha, on_error, served.shape_of(rows)), []).append(waiting)
        self._new = True
        if not self._looking:
            self._looking = True
            loop.call_soon(self._look)
        return await waiting.done

    def _look(self) -> None:
        """Run if nothing came since the last look; between two looks the event loop reads what has arrived."""
        if self._new:
            self._new = False
            asyncio.get_running_loop().call_soon(self._look)
            return
        self._looking = False
        self._run()

    def _run(self) -> None:
        """Score everything that waits, unless the thread is at work: it calls again when it is free."""
        if self._worker.busy:
            return
        everything, self._waiting = self._waiting, {}
        for (served, alpha, on_error, shape), requests in everything.items():
            here = [request for request in requests if not request.done.done()]  # timed out, or gone
            for together in passes(here) if shape is not None else [[request] for request in here]:
                self._metrics.joined(len(together))
                settle(served, together, alpha, on_error)


def passes(requests: list[Waiting]) -> list[list[Waiting]]:
    """Part requests into passes of about `PASS_ROWS` rows."""
    parted: list[list[Waiting]] = []
    rows = PASS_ROWS
    for request in requests:
        if rows + len(request.rows) > PASS_ROWS:
            parted.append([])
            rows = 0
        parted[-1].append(request)
        rows += len(request.rows)
    return parted


def settle(served: Served, requests: list[Waiting], alpha: float | None, on_error: OnError) -> None:
    """Score requests as one table and share out the verdicts; where that fails, each alone: only one is at fault."""
    try:
        table = rows_to_arrow([row for request in requests for row in request.rows])
        verdicts = served.scorer.verdicts(table, alpha=alpha, on_error=on_error)
    except Exception as error:
        if len(requests) == 1:
            requests[0].done.set_exception(error)
        else:
            settle_apart(served, requests, alpha, on_error)
        return
    if len(requests) == 1:
        requests[0].done.set_result(verdicts)
    elif verdicts.errors:  # they count rows from the first request on
        settle_apart(served, requests, alpha, on_error)
    else:
        start = 0
        for request in requests:
            end = start + len(request.rows)
            request.done.set_result(verdicts.part(start, end))
            start = end


def settle_apart(served: Served, requests: list[Waiting], alpha: float | None, on_error: OnError) -> None:
    """Score each request by itself."""
    for request in requests:
        settle(served, [request], alpha, on_error)
