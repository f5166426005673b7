"""Verdicts on a Parquet table by Spark: `gditd predict --engine spark`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gditd.atomic import own_folder
from gditd.cli.console import collected_notes, tell
from gditd.cli.tasks.models import load_classifier, notes_on_alpha
from gditd.integrations.spark.requirements import refuse_missing_java, refuse_missing_pyspark
from gditd.integrations.spark.session import spark_session
from gditd.tables import TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from gditd.integrations.spark.metrics import Figures

REMOTE = re.compile(r"([a-z][a-z0-9+.-]+):/+(.*)")  # of two slashes, a Path has made one
IN_A_TASK = re.compile(r"gditd\.tables\.errors\.TableError: (.*)")


def predict_on_spark(
    path: Path,
    table: Path,
    *,
    master: str,
    out: Path | None,
    alpha: float | None,
    n_reasons: int | None,
    on_error: Literal["raise", "ood"],
    quiet: bool,
) -> None:
    """Write the table with its verdicts as a folder of Parquet files."""
    out = fit_folder(out)
    refuse_other_formats(table)
    refuse_missing_pyspark()
    refuse_missing_java()
    model = load_classifier(path)
    with collected_notes() as notes, spark_session(master) as spark:
        from gditd.integrations.spark import ScoringMetrics, score  # noqa: PLC0415 - pyspark may be missing

        metrics = ScoringMetrics(spark)
        with one_sentence(table):
            rows = spark.read.parquet(address(table))
            scored = score(rows, model, alpha=alpha, explain=n_reasons, on_error=on_error, metrics=metrics)
            write_whole(scored, out)
        figures = metrics.total()
    if quiet:
        return
    for note in [*notes, *notes_on_alpha(model, alpha)]:
        tell(f"note: {note}")
    tell(f"{outcome(figures)} Written to {out}.")


def fit_folder(out: Path | None) -> Path:
    """Refuse what cannot become a new folder."""
    if out is None:
        raise ValueError("--engine spark writes a folder of Parquet files: say where with --out DIR")
    if is_remote(out):
        return out
    if out.exists():
        raise ValueError(f"--out {out} is there already: choose another name, or take it away")
    if not out.parent.is_dir():
        raise ValueError(f"cannot write {out}: there is no folder {out.parent}")
    return out


def refuse_other_formats(table: Path) -> None:
    """Refuse a table that Spark would read in another way than gditd does."""
    if is_remote(table) or table.is_dir() or table.name.lower().endswith(".parquet"):
        return
    raise TableError(f'--engine spark reads Parquet, a file or a folder of them: write "{table}" as Parquet first')


def is_remote(path: Path) -> bool:
    """Whether a path is an address, such as hdfs://..., that Spark alone understands."""
    return REMOTE.match(str(path)) is not None


def address(path: Path) -> str:
    """The path as Spark takes it; one without an address is on this machine, whatever Spark's own default is."""
    found = REMOTE.match(str(path))
    return f"{found[1]}://{found[2]}" if found else path.absolute().as_uri()


def write_whole(frame: DataFrame, out: Path) -> None:
    """Write the folder, which appears under its name when it is complete; elsewhere Spark sees to that."""
    if is_remote(out):
        frame.write.parquet(address(out))
        return
    with own_folder(out.parent, out.name) as temporary:
        written = temporary / "verdicts"
        frame.write.parquet(address(written))
        written.replace(out)


@contextmanager
def one_sentence(table: Path) -> Iterator[None]:
    """Make one sentence of what Spark says over pages."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with pyspark, which may be missing
    from pyspark.errors import AnalysisException, PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        in_a_task = IN_A_TASK.search(text)
        if in_a_task:
            raise TableError(in_a_task[1]) from None
        if isinstance(error, AnalysisException) and "PATH_NOT_FOUND" in text:
            raise TableError(f'there is no file "{table}": check the path') from None
        raise ValueError(f"Spark gave up: {text.strip().splitlines()[0]}") from None


def outcome(figures: Figures) -> str:
    """The figures for people."""
    share = f" ({figures.ood / figures.rows:.1%})" if figures.rows else ""
    because = f", {figures.unread:,} of them because they could not be read" if figures.unread else ""
    return f"{figures.rows:,} rows, {figures.ood:,} OOD{share}{because}."
