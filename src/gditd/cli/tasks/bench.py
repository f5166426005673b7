"""Measure methods on a table, and show or write what came out."""

from __future__ import annotations

import datetime
import os
import platform
import shlex
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import sklearn
import torch
import typer
from rich.table import Table

from gditd import __version__
from gditd.bench import BenchError, Experiment, Outcome, run_all
from gditd.bench.embeddings import paper_embeddings
from gditd.bench.journal import Run, add_run, as_document
from gditd.bench.paper import EPOCHS, TABLES, paper_experiments
from gditd.bench.report import write_paper_report, write_report
from gditd.bench.tables import load_table, refuse_unknown
from gditd.bench.tasks import BenchProgress
from gditd.cli.console import out as stdout
from gditd.cli.console import print_json, tell
from gditd.cli.group import if_interrupted
from gditd.cli.progress import bar
from gditd.datasets import DatasetError

METHODS = ("gditd", "gditd-paper", "softmax", "mahalanobis", "deep-mcdd", "extra-trees")
PAPER = "paper"
EACH = "each"
FAILED = 1
STEPS = 1000  # of the progress bar

SHOWN = {
    "ood_auroc": "OOD AUROC",
    "ood_aupr": "OOD AUPR",
    "tnr_at_85_tpr": "TNR at\n85 % TPR",
    "id_accuracy": "accuracy",
    "minority_aupr": "minority\nAUPR",
}


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What was typed."""

    what: str
    target: str | None
    ood_classes: tuple[str, ...]
    minority_class: str | None
    methods: str | None
    mdsr: str
    folds: int
    epochs: int | None
    seeds: str
    rows: int | None
    ignore: tuple[str, ...]
    tables: str | None


def bench(wishes: Wishes, *, out: Path | None, data: Path | None, workers: int, json: bool, quiet: bool) -> None:
    """Run, then print, and write where asked for."""
    folder = None if data is None else str(data)
    paper = wishes.what == PAPER
    if out is not None and out.exists() and not out.is_dir():
        raise BenchError(f"--out {out} is a file: give the name of a folder")
    if paper and out is None:
        raise BenchError("bench paper writes tables, figures and a page: say where with --out DIR")
    experiments, notes = of_paper(wishes, folder) if paper else ([of_table(wishes, folder)], [])
    started = time.monotonic()
    with kept_if_interrupted(out):
        outcome = measured(experiments, out=out, data=folder, workers=workers, quiet=quiet)
        for note in [] if quiet else [*notes, *outcome.notes]:
            tell(f"note: {note}")
        if out is not None:
            facts = context(add_run(out, this_run(time.monotonic() - started, workers, outcome)), outcome.versions)
            if paper:
                embeddings = paper_embeddings(experiments, folder)
                write_paper_report(outcome.results, out, context=facts, embeddings=embeddings)
            else:
                write_report(outcome.results, out, context=facts)
    if json:
        print_json(as_document(outcome.results))
    elif not quiet:
        show(outcome.results)
        if out is not None:
            stdout().print(f"Results, tables and report.html are in {out}.")
    for line in outcome.failures:
        tell(f"failed: {line}")
    if outcome.failures:
        raise typer.Exit(FAILED)


def measured(
    experiments: list[Experiment], *, out: Path | None, data: str | None, workers: int, quiet: bool
) -> Outcome:
    """Run with a progress bar."""
    with bar("measuring", "results", quiet=quiet) as report:

        def on_progress(progress: BenchProgress) -> None:
            report(round(STEPS * progress.share), STEPS, f"{progress.jobs_done:,} of {progress.jobs:,}")

        return run_all(experiments, out=out, workers=workers, data=data, progress=on_progress)


def kept_if_interrupted(out: Path | None) -> AbstractContextManager[None]:
    """Ctrl-C loses nothing where there is a folder for results."""
    if out is None:
        return nullcontext()
    return if_interrupted(lambda: f"results so far are kept in {out}, and the same command goes on from there")


def of_table(wishes: Wishes, data: str | None) -> Experiment:
    """The experiment on one table."""
    if wishes.tables is not None:
        raise BenchError("--tables goes with: gditd bench paper")
    methods = METHODS if wishes.methods is None else names(wishes.methods, "--methods")
    experiment = Experiment(
        dataset=wishes.what,
        methods=methods,
        mdsr=tuple(numbers(wishes.mdsr, "--mdsr")),
        folds=wishes.folds,
        epochs=wishes.epochs,
        seeds=tuple(int(seed) for seed in numbers(wishes.seeds, "--seed", whole=True)),
        minority_class=wishes.minority_class,
        target=wishes.target,
        ignore=wishes.ignore,
        max_rows=wishes.rows,
    )
    refuse_unknown(experiment)
    classes = wishes.ood_classes
    if classes == (EACH,):
        classes = tuple(load_table(experiment, data).class_names)
    return replace(experiment, ood_classes=classes)


def of_paper(wishes: Wishes, data: str | None) -> tuple[list[Experiment], list[str]]:
    """The paper's experiments on the tables that are there, and what is left out."""
    refused = {
        "--target": wishes.target,
        "--ood-class": wishes.ood_classes,
        "--minority-class": wishes.minority_class,
        "--methods": wishes.methods,
        "--ignore": wishes.ignore,
    }
    for option, value in refused.items():
        if value:
            raise BenchError(f"{option} does not go with bench paper: the paper says what is measured")
    tables = tuple(TABLES) if wishes.tables is None else names(wishes.tables, "--tables")
    (seed,) = numbers(wishes.seeds, "--seed", whole=True)[:1]
    experiments, notes = [], []
    for name in tables:
        own = paper_experiments([name], epochs=wishes.epochs or EPOCHS, seed=int(seed), max_rows=wishes.rows)
        try:
            load_table(own[0], data)
        except DatasetError as error:
            if wishes.tables is not None:
                raise
            notes.append(f"left out: {error}")
            continue
        experiments += own
    if not experiments:
        raise BenchError(f"none of the paper's tables is there. {notes[0]}")
    return experiments, notes


def names(text: str, option: str) -> tuple[str, ...]:
    """A comma-separated list, each name once."""
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not found:
        raise BenchError(f"{option} is empty: give names with commas between them")
    return found


def numbers(text: str, option: str, *, whole: bool = False) -> list[float]:
    """A comma-separated list of numbers."""
    try:
        return [int(part) if whole else float(part) for part in names(text, option)]
    except ValueError:
        kind = "whole numbers" if whole else "numbers"
        raise BenchError(f"{option}: '{text}' is no list of {kind}, such as {'0,1' if whole else '1,0.3'}") from None


def this_run(seconds: float, workers: int, outcome: Outcome) -> Run:
    """What is noted of a run."""
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Run(date, shlex.join(["gditd", *sys.argv[1:]]), workers, round(seconds, 1), outcome.new_results)


def context(runs: list[Run], versions: list[str]) -> dict[str, str]:
    """What a reader needs to get the same results; `versions` are those of gditd that measured them."""
    measured_by = " and ".join(versions or [__version__])
    told = [f"{run.command} ({run.seconds / 60:.1f} minutes, {run.new_results} results)" for run in runs]
    return {
        "commands": "; ".join(told),
        "versions": f"gditd {measured_by}, torch {torch.__version__}, scikit-learn {sklearn.__version__}, "
        f"Python {platform.python_version()}",
        "date": runs[-1].date if runs else "-",
        "machine": f"{platform.system()} on {platform.machine()} with {os.cpu_count()} cores",
    }


def show(results: pd.DataFrame) -> None:
    """Means for people, in %."""
    console = stdout()
    for (dataset, ood_class, mdsr), own in results.groupby(["dataset", "ood_class", "mdsr"], sort=False):
        cells = own[["fold", "seed"]].drop_duplicates()
        table = Table(title=f"{dataset}, OOD class {ood_class}, MDSR {mdsr:g}: means over {len(cells)} splits, in %")
        table.add_column("method")
        for heading in (*SHOWN.values(), "fit, s", "score,\nrows/s"):
            table.add_column(heading, justify="right")
        means = own.groupby(["method", "metric"], sort=False)["value"].mean().unstack()
        for method, figures in means.reindex(own["method"].unique()).iterrows():
            shares = ["-" if pd.isna(figures[name]) else f"{100 * figures[name]:.1f}" for name in SHOWN]
            speeds = [f"{figures['fit_seconds']:.1f}", f"{figures['score_rows_per_second']:,.0f}"]
            table.add_row(str(method), *shares, *speeds)
        console.print(table)
