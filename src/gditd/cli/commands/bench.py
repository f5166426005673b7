"""`gditd bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gditd.cli.examples import examples
from gditd.cli.options import Json, Quiet

NAME = "bench"
EXAMPLES = examples(
    ("your own table, one class playing the unknown", "gditd bench cases.csv --target kind --ood-class mule"),
    ("a known data set, chosen methods", "gditd bench gas --methods gditd,extra-trees,lof --mdsr 1,0.1 --data DIR"),
    ("every class in turn, results kept in a folder", "gditd bench shuttle --ood-class each --out results --data DIR"),
    ("the paper's tables and figures", "gditd bench paper --out results --data DIR"),
    ("a detector of PyOD", "gditd bench cases.csv --target kind --ood-class mule --methods gditd,pyod:HBOS"),
)


def command(
    what: Annotated[
        str,
        typer.Argument(
            metavar="DATASET|TABLE",
            help="gas, drive, mnist, nsl-kdd, shuttle, disputes; a table file (with --target); or paper.",
            show_default=False,
        ),
    ],
    *,
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="COL", help="The label column of a table file.", show_default=False),
    ] = None,
    ood_class: Annotated[
        list[str] | None,
        typer.Option(
            "--ood-class",
            metavar="C",
            help="The class that plays the unknown one; may be repeated; each: all in turn. Default: the data set's.",
            show_default=False,
        ),
    ] = None,
    minority_class: Annotated[
        str | None,
        typer.Option(
            "--minority-class",
            metavar="C",
            help="The class that --mdsr makes rarer. Default: the data set's, or the rarest known one.",
            show_default=False,
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            metavar="A,B",
            help="Default: gditd,gditd-paper,softmax,mahalanobis,deep-mcdd,extra-trees. An unknown name lists all.",
            show_default=False,
        ),
    ] = None,
    mdsr: Annotated[
        str, typer.Option("--mdsr", metavar="1,0.3", help="Shares of the minority class to keep, each measured.")
    ] = "1",
    folds: Annotated[int, typer.Option("--folds", metavar="K", min=2, help="Stratified folds.")] = 5,
    epochs: Annotated[
        int | None,
        typer.Option(
            "--epochs", metavar="N", min=1, help="Training epochs. Default: each method's own.", show_default=False
        ),
    ] = None,
    seeds: Annotated[str, typer.Option("--seed", metavar="N", help="One or several: 0,1,2.")] = "0",
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows",
            metavar="N",
            min=1,
            help="Take at most so many rows, each class in proportion.",
            show_default=False,
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="COL", help="A column to leave out; may be repeated.", show_default=False),
    ] = None,
    tables: Annotated[
        str | None,
        typer.Option(
            "--tables",
            metavar="A,B",
            help="With paper: some of gas, drive, mnist, disputes. Default: all.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Keep results as they come, and write tables and a report; a stopped run goes on from there.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="DIR", help="Folder of the data sets. Default: $GDITD_DATA.", show_default=False
        ),
    ] = None,
    workers: Annotated[int, typer.Option("--workers", metavar="N", min=1, help="Processes of one thread each.")] = 2,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure methods on the same splits of a table: one class held out of training, the others in folds."""
    from gditd.cli.tasks.bench import Wishes, bench  # noqa: PLC0415 - torch takes seconds, help should not

    wishes = Wishes(
        what=what,
        target=target,
        ood_classes=tuple(ood_class or ()),
        minority_class=minority_class,
        methods=methods,
        mdsr=mdsr,
        folds=folds,
        epochs=epochs,
        seeds=seeds,
        rows=rows,
        ignore=tuple(ignore or ()),
        tables=tables,
    )
    bench(wishes, out=out, data=data, workers=workers, json=json, quiet=quiet)
