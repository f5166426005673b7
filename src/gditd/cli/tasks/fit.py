"""Learn from a table file and write a model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from rich.table import Table

from gditd import GDITDClassifier
from gditd.checkpoint import CheckpointFile
from gditd.cli.console import collected_notes, out, percent, print_json, tell
from gditd.cli.group import if_interrupted
from gditd.cli.progress import Report, bar
from gditd.cli.tasks.streamed import drawn, whole_table
from gditd.cli.tasks.tables import refuse_same_file, refuse_unwritable, split_target
from gditd.model_file.signing import private_key
from gditd.presets import PRESETS
from gditd.report import fit_report
from gditd.report.write import refuse_unfit_path
from gditd.streaming import Sample, as_class_labels
from gditd.summary import forecast_words
from gditd.tables import read_table
from gditd.training import Progress, leads


def fit(
    train: Path,
    target: str,
    *,
    out: Path | None,
    preset: str,
    alpha: float,
    ignore: tuple[str, ...],
    seed: int,
    calibration: Literal["cross", "split"] | None,
    keep_examples: bool,
    ood: Path | None,
    report: Path | None,
    sign: Path | None,
    json: bool,
    quiet: bool,
    stream: bool | None = None,
    resume: bool = False,
) -> None:
    """Fit, save, and say what came out."""
    out = out or Path(default_name(train))
    refuse_unwritable(out)
    inputs = [path for path in (train, ood, sign) if path is not None]
    refuse_same_file(out, *inputs)
    if report is not None:
        refuse_unfit_path(report, *inputs, out)
    if target in ignore:
        raise ValueError(f'column "{target}" is both --target and --ignore: leave out one of them')
    if calibration == "cross" and PRESETS[preset].n_members == 1:
        raise ValueError(f"--calibration cross needs several members, preset {preset} has one: use --calibration split")
    key = None if sign is None else private_key(sign)
    quiet = quiet or not leads()  # of processes that train together, the first talks and writes
    started = time.monotonic()
    settings: dict[str, Any] = {
        "preset": preset,
        "alpha": alpha,
        "ignore": ignore,
        "random_state": seed,
        "calibration": calibration,
        "keep_examples": keep_examples,
    }
    sample = drawn(train, target, stream=stream, quiet=quiet, **settings)
    table, labels = rows_of(train, target) if sample is None else (sample.table, sample.labels)
    unknown = None if ood is None else without_column(read_table(ood), target)
    checkpoint = checkpoint_for(out, resume=resume, quiet=quiet)
    with collected_notes() as notes, bar("learning", "epochs", quiet=quiet) as tell_progress:
        with if_interrupted(lambda: how_to_go_on(checkpoint)):
            model = learn(table, labels, tell_progress, unknown, sample=sample, checkpoint=checkpoint, **settings)
        if not leads():
            return
        model.save(out, sign=key)
        if report is not None:
            context = {"training table": str(train), "label column": target, "model": str(out)}
            with if_interrupted(lambda: f"the model was written to {out}, the report was not"):
                fit_report(model, table, labels, report, context=context)
    document = {
        "model": str(out),
        **({} if report is None else {"report": str(report)}),
        "seconds": round(time.monotonic() - started, 3),
        "notes": notes,
        **model.summary(),
    }
    if json:
        print_json(document)
    elif not quiet:
        show(document)


def learn(
    table: pa.Table,
    labels: pa.Array,
    tell_progress: Report,
    ood: pa.Table | None = None,
    *,
    sample: Sample | None = None,
    checkpoint: Path | None = None,
    **settings: Any,
) -> GDITDClassifier:
    """Fit a classifier, telling after each epoch how far it is; `ood` are rows known to be of no class.

    `sample` is where table and labels come from if they were drawn from a larger table.
    """

    # A plain function: scikit-learn copies an estimator's settings, and a progress bar cannot be copied.
    def on_epoch(progress: Progress) -> None:
        tell_progress(progress.epoch, progress.max_epochs)

    model = GDITDClassifier(**settings, progress=on_epoch)
    if sample is not None:
        return model._fit_sample(sample, ood, checkpoint)
    return model.fit(table, labels, ood, checkpoint=checkpoint)


def checkpoint_for(model: Path, *, resume: bool, quiet: bool) -> Path:
    """Where training is kept as it goes; what an earlier run left there is gone, unless it is to go on."""
    path = model.with_name(f"{model.name}.checkpoint")
    if not leads():  # of processes that train together, the first reads and writes
        return path
    if not resume:
        CheckpointFile(path).remove()
    elif not quiet:
        tell(f"going on from {path}" if path.exists() else f"there is no {path} to go on from: beginning anew")
    return path


def how_to_go_on(checkpoint: Path) -> str:
    """What Ctrl-C leaves."""
    if checkpoint.exists():
        return f"no model was written; the same command with --resume goes on from {checkpoint}"
    return "no file was written"


def rows_of(train: Path, target: str) -> tuple[pa.Table, pa.Array]:
    """The whole table without the labels, and the labels."""
    table, column = split_target(whole_table(train, target), target)
    return table, as_class_labels(column, target)


def without_column(table: pa.Table, name: str) -> pa.Table:
    """The table without a column that it may have."""
    return table.drop_columns([name]) if name in table.column_names else table


def default_name(train: Path) -> str:
    """The table's name with .gditd in the place of what says its format."""
    name = train.name.removesuffix(".gz")
    return f"{Path(name).stem}.gditd"


def show(document: dict[str, Any]) -> None:
    """The summary for people."""
    console = out()
    used = [column for column in document["columns"] if column["kind"] != "constant"]
    console.print(
        f"Learned {len(document['classes'])} classes from {rows_words(document)} and {len(used)} columns "
        f"in {document['seconds']:.1f} s (preset {document['preset']}, {members(document['members'])})."
    )
    console.print(promise_table(document["classes"]))
    console.print(document["proven"])
    if document["rule"] == "conformal":
        console.print(forecast_words(document["forecast"]))
    for note in document["notes"]:
        console.print(f"note: {note}")
    model = document["model"]
    if "report" in document:
        console.print(f"\nReport written to {document['report']}.")
    console.print(f"\nModel written to {model}. Next:")
    console.print(f"  gditd predict {model} NEW.csv --out verdicts.csv")
    console.print(f"  gditd inspect {model}")


def rows_words(document: dict[str, Any]) -> str:
    """The rows, and how many of them were drawn to learn from."""
    rows, learned_from = document["rows"], document["rows_learned_from"]
    return f"{rows:,} rows" if rows == learned_from else f"{learned_from:,} of {rows:,} rows"


def members(count: int) -> str:
    """The number of networks, in words."""
    return "1 member" if count == 1 else f"{count} members"


def promise_table(classes: list[dict[str, Any]]) -> Table:
    """Classes with their rows and what is promised for each."""
    table = Table()
    table.add_column("class")
    table.add_column("rows", justify="right")
    table.add_column("own new rows called OOD,\nproven at most", justify="right")
    table.add_column("smallest\nalpha", justify="right")
    shared = any(known["calibrated_with"] for known in classes)
    if shared:
        table.add_column("calibrated together with")
    for known in classes:
        smallest = known["smallest_alpha"]
        cells = [
            str(known["class"]),
            f"{known['rows']:,}",
            "no promise" if known["promise"] is None else percent(known["promise"]),
            "-" if smallest is None else f"{smallest:.2g}",
        ]
        table.add_row(*cells, *([known["calibrated_with"]] if shared else []))
    return table
