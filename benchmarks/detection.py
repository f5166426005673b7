"""Who detects what was never labelled: gditd and its peers on nine tables, the same rows and seeds for each.

Folds 1 and 2 of 5, at most four classes of a table in turn as the OOD class, at most 20,000 rows, and one other class
kept whole (MDSR 1) or thinned to a tenth. Results are kept as they come: a stopped run goes on where it was. The
summary has means and worst cases. --cells names a table with a line for each cell and method: what was not measured
now is taken from there, and all of it is written back. Needs GDITD_DATA, or --data.

    python benchmarks/detection.py [--results DIR] [--methods a,b] [--tables a,b] [--cells FILE] [--out FILE] [--json]
        [--workers N]
"""

from __future__ import annotations

import json
import sys
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import sklearn
import torch
from threadpoolctl import threadpool_limits

import gditd
from gditd.atomic import write_atomically
from gditd.bench import Experiment
from gditd.bench.protocol import Cell, cells
from gditd.bench.runner import run_all
from gditd.bench.tables import BenchTable, load_table
from report import Results, markdown, parser_for, report

# The classes that play the unknown one. Where a table has more than four they are those that the method was not
# developed with; of shuttle and NSL-KDD the large ones and the attacks.
TABLES: dict[str, tuple[str, ...]] = {
    "gas": ("0", "2", "3", "5"),
    "drive": ("0", "1", "3", "4"),
    "mnist": ("0", "1", "2", "3"),
    "shuttle": ("0", "3", "4"),
    "nsl-kdd": ("dos", "probe", "r2l", "u2r"),
    "disputes": ("legitimate", "first-party fraud", "third-party fraud"),
    "digits": ("0", "2", "3", "4"),
    "wine": ("0", "1", "2"),
    "woodland": ("0", "1", "2", "6"),
}
OWN = ("gditd", "gditd-fast")
PAPER = "gditd-paper"
PEERS = ("extra-trees", "knn", "lof", "ecod", "softmax", "mahalanobis", "deep-mcdd")
METHODS = (*OWN, PAPER, *PEERS)

RESULTS = Path("results/detection")
CELL = ["dataset", "ood_class", "minority_class", "mdsr", "fold"]


def experiments(tables: list[str], methods: tuple[str, ...]) -> list[Experiment]:
    """The same cells for every method."""
    return [
        Experiment(
            dataset=name, methods=methods, mdsr=(1.0, 0.1), only_folds=(1, 2), ood_classes=TABLES[name], max_rows=20_000
        )
        for name in tables
    ]


def small_cells_main(
    description: str | None,
    measure: Callable[[BenchTable, Cell], dict[str, Any]],
    as_markdown: Callable[[Results], str],
) -> None:
    """Measure something else on a part of the cells: fold 1, MDSR 1, at most 8,000 rows and two OOD classes a table."""
    parser = parser_for(description)
    parser.add_argument("--tables", default=",".join(TABLES), help="with commas between them")
    parser.add_argument("--data", help="the folder of the data sets' files; default: GDITD_DATA")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results: Results = []
    with threadpool_limits(1):
        for whole in experiments(arguments.tables.split(","), ("gditd",)):
            own = replace(whole, mdsr=(1.0,), only_folds=(1,), ood_classes=whole.ood_classes[:2], max_rows=8_000)
            table = load_table(own, arguments.data)
            for cell in cells(own, table):
                results.append(measure(table, cell))
                print(f"{table.name}, OOD class {cell.ood_class}", file=sys.stderr)
    report(results, as_markdown, arguments)


SHOWN = {
    "ood_auroc": "OOD AUROC",
    "ood_aupr": "OOD AUPR",
    "tnr_at_85_tpr": "TNR at 85 % TPR",
    "id_accuracy": "ID accuracy",
    "minority_aupr": "minority AUPR",
}


def main() -> None:
    parser = parser_for(__doc__)
    add_options(parser, results=RESULTS)
    parser.add_argument("--tables", default=",".join(TABLES), help="with commas between them")
    parser.add_argument("--data", help="the folder of the data sets' files; default: GDITD_DATA")
    arguments = parser.parse_args()
    measured = run(
        experiments(arguments.tables.split(","), tuple(arguments.methods.split(","))),
        results=arguments.results,
        workers=arguments.workers,
        data=arguments.data,
    )
    keep_and_report(measured, as_markdown, arguments)


def add_options(parser: ArgumentParser, *, results: Path) -> None:
    """What this comparison and that of other tables can be told."""
    parser.add_argument("--results", type=Path, default=results, help="where results are kept as they come")
    parser.add_argument("--methods", default=",".join(METHODS), help="with commas between them")
    parser.add_argument("--cells", type=Path, help="a CSV file with the results of every cell, to take from and add to")
    parser.add_argument("--workers", type=int, default=2)


def run(wanted: list[Experiment], *, results: Path, workers: int, data: str | None) -> pd.DataFrame:
    """Measure what a folder of results does not have yet; a line for each cell and method in it."""
    outcome = run_all(
        wanted,
        out=results,
        workers=workers,
        data=data,
        progress=lambda progress: print(f"\r{progress.jobs_done} of {progress.jobs}", end="", file=sys.stderr),
    )
    for failed in outcome.failures:
        print(failed, file=sys.stderr)
    lines = [json.loads(line) for line in (results / "results.jsonl").read_text().splitlines()]
    return pd.DataFrame(
        [{**{name: line["job"][name] for name in ("method", *CELL)}, **line["figures"]} for line in lines]
    )


def keep_and_report(measured: pd.DataFrame, as_markdown: Callable[[Results], str], arguments: Namespace) -> None:
    """Report what was measured, with what a file of cells has besides."""
    found = measured if arguments.cells is None else with_kept(measured, arguments.cells)
    report(found.to_dict("records"), as_markdown, arguments)


def with_kept(measured: pd.DataFrame, cells: Path) -> pd.DataFrame:
    """Add what a file of cells has besides, and write all of it back."""
    kept = [pd.read_csv(cells, dtype={"ood_class": str, "minority_class": str})] if cells.exists() else []
    found = pd.concat([*kept, measured]).drop_duplicates(["method", *CELL], keep="last")
    order = found["method"].map({method: place for place, method in enumerate(METHODS)})
    found = found.assign(order=order).sort_values(["order", *CELL], kind="stable").drop(columns="order")
    write_atomically(cells, lambda path: found.to_csv(path, index=False, float_format="%.6g"))
    return found


def as_markdown(results: Results) -> str:
    """The whole page."""
    return page("Who detects what was never labelled", results, made_by="make bench-detection")


def page(title: str, results: Results, *, made_by: str) -> str:
    """Means, worst cases, every table, and how the forecast did."""
    frame = pd.DataFrame(results)
    parts = [
        f"# {title}",
        f"{len(frame.groupby(CELL))} cells of {frame['dataset'].nunique()} tables; all shares in %. Made by "
        f"`{made_by}`, seed 0, with gditd {gditd.__version__}, torch {torch.__version__} and scikit-learn "
        f"{sklearn.__version__}. Seconds and rows a second were taken while other work went on at the same time.",
        "## Means over all cells",
        means(frame),
        gains(frame),
        "## Worst cells",
        worst(frame),
        "## OOD AUROC by table",
        by_table(frame),
        "## The forecast",
        forecasts(frame[frame["method"] == OWN[0]]),
    ]
    return "\n\n".join(parts) + "\n"


def means(frame: pd.DataFrame) -> str:
    """Methods down, metrics across; every table counts by its number of cells."""
    found = 100 * frame.groupby("method", sort=False)[list(SHOWN)].mean()
    speed = frame.groupby("method", sort=False)[["fit_seconds", "score_rows_per_second"]].median()
    rows = [
        [method, *(figure(value) for value in found.loc[method]), f"{fit:.1f}", f"{rate:,.0f}"]
        for method, (fit, rate) in zip(found.index, speed.to_numpy(), strict=True)
    ]
    return markdown(["method", *SHOWN.values(), "fit, s (median)", "rows/s (median)"], rows)


def gains(frame: pd.DataFrame) -> str:
    """By how much the default is ahead, and how much of it the fast preset keeps, where all were measured."""
    found = 100 * frame.groupby("method")["ood_auroc"].mean()
    peers = found[found.index.isin(PEERS)]
    if not {*OWN, PAPER} <= set(found.index) or peers.empty:
        return "Not all methods were measured."
    return "\n".join(
        f"- OOD AUROC of {OWN[0]} against {name}: {found[OWN[0]] - found[name]:+.2f}; {OWN[1]} keeps "
        f"{(found[OWN[1]] - found[name]) / (found[OWN[0]] - found[name]):.0%} of it."
        for name in (peers.idxmax(), PAPER)
    )


def worst(frame: pd.DataFrame) -> str:
    """The cell in which each method's AUROC is lowest."""
    lowest = frame.loc[frame.groupby("method", sort=False)["ood_auroc"].idxmin()]
    return markdown(
        ["method", "lowest OOD AUROC", "where"],
        [
            [
                cell.method,
                figure(100 * cell.ood_auroc),
                f"{cell.dataset}, OOD class {cell.ood_class}, MDSR {cell.mdsr:g}",
            ]
            for cell in lowest.itertuples()
        ],
    )


def by_table(frame: pd.DataFrame) -> str:
    """Tables down, methods across; where both were measured, by how much the first is ahead of the best peer."""
    found = 100 * frame.pivot_table(index="dataset", columns="method", values="ood_auroc", sort=False)
    rows = [[table, *(figure(value) for value in found.loc[table])] for table in found.index]
    peers = [name for name in found.columns if name in PEERS]
    if not peers or OWN[0] not in found.columns:
        return markdown(["table", *found.columns], rows)
    ahead = found[OWN[0]] - found[peers].max(axis=1)
    rows = [
        [*row, f"{ahead[table]:+.2f} ({found.loc[table, peers].idxmax()})"]
        for row, table in zip(rows, found.index, strict=True)
    ]
    return markdown(["table", *found.columns, f"{OWN[0]} against the best peer"], rows)


def forecasts(own: pd.DataFrame) -> str:
    """How the forecast at fit time compares with what then came."""
    told = own.dropna(subset=["forecast_auroc"])
    if told.empty:
        return "None was made."
    inside = told["ood_auroc"].between(told["forecast_low"], told["forecast_high"])
    error = (told["ood_auroc"] - told["forecast_auroc"]).abs()
    return "\n".join(
        [
            f"- Cells with a forecast: {len(told)} of {len(own)} (the others know too few classes).",
            f"- Rank correlation of forecast and true AUROC: {rank_correlation(told, 'auroc'):.2f}.",
            f"- True AUROC within the range (meant for 90 %): {inside.mean():.0%}; "
            f"median width of the range {100 * (told['forecast_high'] - told['forecast_low']).median():.1f} points.",
            f"- Mean absolute error of the forecast AUROC: {100 * error.mean():.1f} points.",
            f"- Recall at alpha 0.05: forecast {told['forecast_recall'].mean():.0%}, "
            f"true {told['ood_recall'].mean():.0%} (rank correlation {rank_correlation(told, 'recall'):.2f}).",
            f"- False alarms over all cells: {own['false_alarm_rate'].mean():.1%}; at most 5 % of a class is promised.",
        ]
    )


def rank_correlation(told: pd.DataFrame, what: str) -> float:
    """Spearman's, between what was forecast and what came."""
    return float(told[f"forecast_{what}"].corr(told[f"ood_{what}"], "spearman"))


def figure(share: float) -> str:
    """A share in %, or a dash where a method names no class."""
    return "-" if pd.isna(share) else f"{share:.1f}"


if __name__ == "__main__":
    main()
