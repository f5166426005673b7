"""What runs on the executors: Arrow batches in, the same with verdicts out."""

from __future__ import annotations

import copy
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import torch
from pyspark import Broadcast, TaskContext
from pyspark.accumulators import Accumulator

from gditd import GDITDClassifier, load
from gditd.integrations.spark.metrics import BATCH, Counted, QueryCount
from gditd.tables import TableError
from gditd.verdict_columns import Tally, VerdictColumns

MODELS_KEPT = 4  # in a Python process; Spark uses each for many tasks, of several queries perhaps


@dataclass(frozen=True)
class ModelCopy:
    """A model on its way to the executors: its file's bytes, sent once to each machine, and a name to know it by."""

    digest: str
    content: Broadcast[bytes]
    backbone: Callable[[int], torch.nn.Module] | None = None

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModelCopy) and self.digest == other.digest


@dataclass(frozen=True)
class Scorer:
    """Scores the partitions of one DataFrame: `names` are those of its columns, `columns` those of the result."""

    model: ModelCopy
    alpha: float | None
    n_reasons: int | None
    on_error: Literal["raise", "ood"]
    names: tuple[str, ...]
    columns: tuple[str, ...]
    query: str
    counted: Accumulator[Counted] | None = None

    def partition(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Score a partition, for `mapInArrow`."""
        model = copy.copy(loaded(self.model)).set_params(on_error=self.on_error)
        adding = VerdictColumns(model, self.alpha, self.n_reasons)
        tally = Tally()
        try:
            for batch in batches:
                if batch.num_rows:
                    yield from self._judged(adding, batch, tally)
        finally:
            self._count(tally)

    def _judged(self, adding: VerdictColumns, batch: pa.RecordBatch, tally: Tally) -> Iterator[pa.RecordBatch]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the driver has told it, once
                table = pa.Table.from_batches([batch]).rename_columns(self.names)
                judged = adding.added_to(table, tally.rows)
        except TableError as error:
            raise TableError(f"{error} (rows are counted within partition {partition_number()})") from None
        tally.add(judged.tally)
        yield from judged.table.select(list(self.columns)).combine_chunks().to_batches()

    def _count(self, tally: Tally) -> None:
        if self.counted is not None:
            stream, batch = streaming_query()
            count = QueryCount(batch, {partition_number(): tally})
            self.counted.add({f"{self.query}/{stream}": count})


@lru_cache(MODELS_KEPT)
def loaded(model: ModelCopy) -> GDITDClassifier:
    """The model, loaded once in a Python process."""
    torch.set_num_threads(1)  # Spark runs as many tasks as there are cores
    with tempfile.TemporaryDirectory(prefix="gditd-") as folder:
        path = Path(folder) / "model.gditd"
        path.write_bytes(model.content.value)
        classifier: GDITDClassifier = load(path, backbone=model.backbone)
    return classifier


def partition_number() -> int:
    """The partition that is being scored."""
    return int(task().partitionId())


def streaming_query() -> tuple[str, int]:
    """The streaming query that a task belongs to, and its batch; nothing of both where it is no stream."""
    query, batch = task().getLocalProperty("sql.streaming.queryId"), task().getLocalProperty("streaming.sql.batchId")
    return (query, int(batch)) if query and batch else ("", BATCH)


def task() -> Any:
    """What Spark says about the task at hand."""
    context = TaskContext.get()
    assert context is not None, "runs in a task only"
    return context
