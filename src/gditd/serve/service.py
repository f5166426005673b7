"""What the service does, apart from HTTP: admit, score, explain, place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from gditd.serve.batching import Batcher
from gditd.serve.budget import BODIES, Budget, Share
from gditd.serve.errors import Refusal, shortened
from gditd.serve.logs import Log
from gditd.serve.metrics import Metrics
from gditd.serve.models import Registry, Served
from gditd.serve.options import PredictOptions
from gditd.serve.rendering import Judged
from gditd.serve.scoring import Verdicts
from gditd.serve.settings import Settings
from gditd.serve.worker import Worker
from gditd.tables.errors import quoted

_Result = TypeVar("_Result")

TABLES_AT_ONCE = 2
EXPLAINED_AT_ONCE = 64  # others wait no longer than this takes


class Service:
    """The models at work."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.log = Log(quiet=settings.quiet)
        self._under_way = 0
        self._budget = Budget(BODIES * settings.max_body)
        self._tables = ThreadPoolExecutor(TABLES_AT_ONCE, thread_name_prefix="gditd-tables")
        self.metrics = Metrics(lambda: self._under_way)
        self.registry = Registry(settings.models)
        self.worker = Worker()
        self.batcher = Batcher(self.worker, self.metrics)

    @contextmanager
    def admitted(self) -> Iterator[Share]:
        """Count a request in and out; more than can be worked on are sent away at once instead of piling up."""
        if self._under_way >= self.settings.max_waiting:
            raise Refusal(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "the service has too many requests under way: try again in a moment",
                headers={"retry-after": "1"},
            )
        self._under_way += 1
        try:
            with self._budget.share() as share:
                yield share
        finally:
            self._under_way -= 1

    async def off_loop(self, work: Callable[[], _Result]) -> _Result:
        """Read or write a table beside the event loop, no more than `TABLES_AT_ONCE`: it takes many times its size.

        A request that times out does not end what it started, so a pool holds them to that number.
        """
        return await asyncio.get_running_loop().run_in_executor(self._tables, work)

    def close(self) -> None:
        """Let the threads end."""
        self.worker.close()
        self._tables.shutdown(wait=False, cancel_futures=True)

    async def judge(self, served: Served, table: pa.Table, options: PredictOptions, rows_before: int) -> Judged:
        """Score a piece of a table in the thread, and do what else was asked for."""
        verdicts = await self.worker.run(
            lambda: served.scorer.verdicts(
                table, alpha=options.alpha, on_error=options.on_error, rows_before=rows_before
            )
        )
        judged = Judged(table, verdicts, options.on_error == "ood", notes=notes_on(served, table.column_names))
        if options.explain is not None:
            judged.reasons = await self._reasons(served, table, verdicts, options.explain)
        if options.map:
            judged.places = await self.worker.run(lambda: served.places(table))
        return judged

    async def explain(self, served: Served, table: pa.Table, n_columns: int) -> list[dict[str, Any]]:
        """Explain rows; one that cannot be read is an error."""
        verdicts = await self.worker.run(lambda: served.scorer.verdicts(table))
        explained = await self.worker.run(lambda: served.explain(table, n_columns))
        return [
            {
                "verdict": verdict,
                "known_class": str(explanation.known_class),
                "compared_with": str(explanation.compared_with),
                "ood_score": explanation.ood_score,
                "columns": [reason.to_dict() for reason in explanation.columns],
                "text": str(explanation),
            }
            for verdict, explanation in zip(verdicts.verdict, explained, strict=True)
        ]

    async def reload(self) -> None:
        """Load the models anew while the old ones go on answering."""
        outcome = await asyncio.to_thread(self.registry.reload)
        for name, reason in outcome.failures.items():
            self.log.failure("a model was not reloaded, the old one stays", model=name, reason=reason)
        self.log.event("reloaded", models=outcome.served)
        self.metrics.reload(complete=not outcome.failures)

    async def _reasons(self, served: Served, table: pa.Table, verdicts: Verdicts, n_columns: int) -> list[list[str]]:
        """Short texts that say why OOD rows are OOD; none for known rows."""
        reasons: list[list[str]] = [[] for _ in range(len(verdicts))]
        places = np.flatnonzero(np.array(verdicts.verdict, dtype=object) == "OOD")
        for start in range(0, len(places), EXPLAINED_AT_ONCE):
            here = places[start : start + EXPLAINED_AT_ONCE]
            explained = await self.worker.run(partial(served.explain, table.take(pa.array(here)), n_columns))
            for place, explanation in zip(here.tolist(), explained, strict=True):
                error = verdicts.errors.get(place)
                texts = [" ".join(str(reason).split()) for reason in explanation.columns]
                reasons[place] = texts if error is None else [error]
        return reasons


def notes_on(served: Served, names: list[str]) -> list[str]:
    """Remarks on columns that the model does not know: one of them may be a misspelt one."""
    extra = [name for name in names if name not in served.kinds and name not in served.model.ignore]
    if not extra or not served.has_names:
        return []
    return [f"ignored {len(extra)} column{'s' * (len(extra) > 1)} not seen in training: {shortened(quoted(extra))}"]
