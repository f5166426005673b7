"""`score`: a DataFrame in, the same with verdicts out."""

from __future__ import annotations

import copy
import hashlib
import tempfile
import uuid
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Literal

import pyarrow as pa
from pyspark import SparkContext
from pyspark.errors import PySparkAttributeError
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from gditd import GDITDClassifier, load
from gditd.integrations.spark.metrics import ScoringMetrics
from gditd.integrations.spark.schemas import checked_schema, kept_columns, needed_columns
from gditd.integrations.spark.worker import ModelCopy, Scorer
from gditd.verdict_columns import VerdictColumns


def score(
    df: DataFrame,
    model: str | PathLike[str] | GDITDClassifier,
    *,
    alpha: float | None = None,
    explain: int | None = None,
    on_error: Literal["raise", "ood"] = "raise",
    keep: bool | list[str] = True,
    metrics: ScoringMetrics | None = None,
) -> DataFrame:
    """Add verdicts to a DataFrame, or to a stream: the columns that `gditd predict` writes.

    Columns are checked here, before any task runs. The model goes to every machine once and is loaded once in each of
    its Python processes, which need gditd installed.

    Parameters
    ----------
    df : rows to judge; the model's columns by name, in any order.
    model : the path of a model file, on the driver, or a fitted classifier.
    alpha : the share of each known class that may be called OOD, instead of the one the model was fitted with.
    explain : add a column, reason: so many columns that most make an OOD row unusual.
    on_error : a row that cannot be read: "raise" fails the job; "ood" calls it OOD and says why in a column, error.
    keep : the input's columns before the verdicts: True for all of them, False for none, or a list of names.
    metrics : counts rows by class and partition.
    """
    refuse_unfit(alpha, explain, on_error)
    context = context_of(df)
    classifier = copy.copy(model if isinstance(model, GDITDClassifier) else loaded_from(Path(model)))
    classifier.set_params(on_error=on_error)
    adding = VerdictColumns(classifier, alpha, explain)
    schema = kept_columns(checked_schema(df.schema, classifier, adding), adding, keep)
    names = needed_columns(df.columns, classifier, schema)
    content = content_of(model)
    scorer = Scorer(
        model=ModelCopy(
            digest=hashlib.sha256(content).hexdigest(),
            content=context.broadcast(content),
            backbone=classifier.backbone if callable(classifier.backbone) else None,
        ),
        alpha=alpha,
        n_reasons=explain,
        on_error=on_error,
        names=tuple(names),
        columns=tuple(schema.names),
        query=uuid.uuid4().hex,
        counted=None if metrics is None else metrics.accumulator,
    )

    def partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return scorer.partition(batches)

    # On the way columns have plain names: `mapInArrow` takes a dot in a name for a field of a structure.
    plain = [sql.col(quoted_name(name)).alias(f"column{place}") for place, name in enumerate(names)]
    return df.select(plain).mapInArrow(partition, schema)


def refuse_unfit(alpha: float | None, explain: int | None, on_error: str) -> None:
    """Refuse, by name, settings that cannot work."""
    if alpha is not None and not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}")
    if explain is not None and explain < 1:
        raise ValueError(f"explain must be a whole number of at least 1, got {explain!r}")
    if on_error not in ("raise", "ood"):
        raise ValueError(f'on_error must be "raise" or "ood", got {on_error!r}')


def context_of(df: DataFrame) -> SparkContext:
    """The Spark that a DataFrame lives in, which has to be one that broadcasts."""
    try:
        return df.sparkSession.sparkContext
    except PySparkAttributeError:
        raise ValueError(
            "a session of Spark Connect cannot broadcast a model: make one with a master, "
            "as in SparkSession.builder.master(...), instead of remote(...)"
        ) from None


def loaded_from(path: Path) -> GDITDClassifier:
    """The model in a file."""
    model = load(path)
    if not isinstance(model, GDITDClassifier):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which gives no verdicts: use a model that gditd fit has written"
        )
    return model


def content_of(model: str | PathLike[str] | GDITDClassifier) -> bytes:
    """The bytes of a model's file."""
    if not isinstance(model, GDITDClassifier):
        return Path(model).read_bytes()
    with tempfile.TemporaryDirectory(prefix="gditd-") as folder:
        path = Path(folder) / "model.gditd"
        model.save(path)
        return path.read_bytes()


def quoted_name(name: str) -> str:
    """A column's name in the quotes that Spark reads dots in it as dots in."""
    return "`" + name.replace("`", "``") + "`"
