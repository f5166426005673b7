"""How long one cell of the paper's Table 3 takes: gas, MDSR 1, five folds, the four methods of the paper.

The bench runner with two workers does it first, then research_code.py does the same: the same rows, epochs, batches
and network sizes, the same five metrics. Both sides use one thread a process, for small networks are slower with more:
two threads beside one busy neighbour fall to a tenth. The runner trains the networks of many folds as one program,
and one softmax network serves both Softmax and Mahalanobis; research code trains every network by itself. The
runner's time is all of its time: worker processes that start, reading the table, encoding, training, scoring. The
research side finds the table read. Needs GDITD_DATA, or --data.

    python benchmarks/paper_table.py [--json] [--epochs N] [--research-epochs N] [--workers N] [--data DIR]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.preprocessing import StandardScaler

from gditd.bench import Experiment, run
from gditd.bench.protocol import cells, split
from gditd.bench.tables import load_table
from research_code import METHODS, Fold, Timed, run_fold

Side = dict[str, Any]


def experiment(epochs: int) -> Experiment:
    return Experiment(dataset="gas", methods=tuple(METHODS), mdsr=(1.0,), folds=5, epochs=epochs, seeds=(0,))


def runner_side(epochs: int, workers: int, data: Path | None) -> Side:
    """The whole run by the package."""
    start = time.perf_counter()
    results = run(experiment(epochs), workers=workers, data=data)
    seconds = time.perf_counter() - start
    auroc = results[results["metric"] == "ood_auroc"].groupby("method")["value"].mean()
    return {"seconds": seconds, "ood_auroc": {name: float(auroc[name]) for name in METHODS}}


def research_side(epochs: int, trained_epochs: int, data: Path | None) -> Side:
    """The whole run by research code; with fewer epochs than asked for, training time is scaled up."""
    start = time.perf_counter()
    folds = list(research_folds(epochs, data))
    seconds = time.perf_counter() - start
    auroc, speed = {}, {}
    for name in METHODS:
        timed = [run_fold(name, fold, trained_epochs) for fold in folds]
        training = sum(one.train_seconds for one in timed)
        seconds += training * epochs / trained_epochs + sum(one.score_seconds for one in timed)
        auroc[name] = mean_auroc(timed)
        speed[name] = trained_epochs * sum(fold.steps for fold in folds) / training
        print(f"research code, {name}: {speed[name]:.0f} steps/s", file=sys.stderr)
    return {"seconds": seconds, "ood_auroc": auroc, "steps_per_second": speed}


def research_folds(epochs: int, data: Path | None) -> Iterator[Fold]:
    """The runner's splits, z-scored by their training rows."""
    chosen = experiment(epochs)
    table = load_table(chosen, None if data is None else str(data))
    features = np.column_stack([column.to_numpy() for column in table.features.itercolumns()])
    for cell in cells(chosen, table):
        known = sorted(set(table.labels.tolist()) - {cell.ood_class})
        code = {label: number for number, label in enumerate(known)} | {cell.ood_class: -1}
        codes = np.array([code[label] for label in table.labels.tolist()])
        rows = split(table, cell)
        test = np.concatenate([rows.test, rows.ood])
        scaler = StandardScaler().fit(features[rows.train])
        train_x, test_x = (
            torch.from_numpy(scaler.transform(features[part]).astype(np.float32)) for part in (rows.train, test)
        )
        train_y, test_y = torch.from_numpy(codes[rows.train]), torch.from_numpy(codes[test])
        yield Fold(train_x, train_y, test_x, test_y, code[cell.minority_class])


def mean_auroc(timed: list[Timed]) -> float:
    return float(np.mean([one.figures["ood_auroc"] for one in timed if one.figures["ood_auroc"] is not None]))


def compare(arguments: argparse.Namespace) -> dict[str, Any]:
    trained_epochs = arguments.research_epochs or arguments.epochs
    runner = runner_side(arguments.epochs, arguments.workers, arguments.data)
    print(f"bench runner: {runner['seconds']:.0f} s", file=sys.stderr)
    research = research_side(arguments.epochs, trained_epochs, arguments.data)
    return {
        "epochs": arguments.epochs,
        "research_epochs": trained_epochs,
        "workers": arguments.workers,
        "runner": runner,
        "research": research,
        "ratio": research["seconds"] / runner["seconds"],
    }


def as_text(result: dict[str, Any]) -> str:
    runner, research = result["runner"], result["research"]
    lines = [f"{'method':14} {'research steps/s':>17} {'research AUROC':>15} {'runner AUROC':>13}"]
    for name in METHODS:
        lines.append(
            f"{name:14} {research['steps_per_second'][name]:17.0f} {research['ood_auroc'][name]:15.1%} "
            f"{runner['ood_auroc'][name]:13.1%}"
        )
    if result["research_epochs"] != result["epochs"]:
        lines.append(
            f"research code trained for {result['research_epochs']} of {result['epochs']} epochs: its training time is "
            "scaled up, its AUROC is not that of full training"
        )
    lines.append(
        f"research code {research['seconds']:.0f} s, bench runner with {result['workers']} workers "
        f"{runner['seconds']:.0f} s: {result['ratio']:.1f} x as fast"
    )
    return "\n".join(lines)


def at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--epochs", type=at_least_one, default=100)
    parser.add_argument("--research-epochs", type=at_least_one, help="time fewer epochs of research code and scale up")
    parser.add_argument("--workers", type=at_least_one, default=2, help="of the bench runner")
    parser.add_argument("--data", type=Path, help="folder of the data sets, instead of GDITD_DATA")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    result = compare(arguments)
    print(json.dumps(result) if arguments.json else as_text(result))


if __name__ == "__main__":
    main()
