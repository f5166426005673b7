"""What fused views cost: time to fit against a plain cohort, and rows scored a second, on gas and one thread.

A plain cohort is the same preset judged by zeta alone. Scoring takes numpy rows in and gives OOD scores out; a verdict
also names the class. Beside it stands one pass of the members' matrix products over the same rows: nothing that uses
these networks can be faster. Each figure is the best of a few runs. Needs GDITD_DATA, or --data.

    python benchmarks/views_speed.py [--json] [--out FILE] [--data DIR]
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import torch
from threadpoolctl import threadpool_limits

from gditd import GDITDClassifier
from gditd.datasets import load_dataset
from report import Results, markdown, parser_for, report

RUNS = 5
SCORED = 50_000
TRAINED = 10_000


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--data", help="the folder of the data sets' files; default: GDITD_DATA")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    pa.set_cpu_count(1)  # by which encoding goes
    dataset = load_dataset("gas", arguments.data)
    rows = np.asarray(dataset.X)[np.random.default_rng(0).permutation(len(dataset.y))]
    labels = dataset.y[np.random.default_rng(0).permutation(len(dataset.y))]
    with threadpool_limits(1):
        results = [measure(preset, rows, labels) for preset in ("default", "fast")]
    report(results, as_markdown, arguments)


def measure(preset: str, rows: np.ndarray, labels: np.ndarray) -> dict[str, object]:
    """One preset."""
    train, classes = rows[:TRAINED], labels[:TRAINED]
    plain = seconds(lambda: GDITDClassifier(preset=preset, views="zeta", random_state=0).fit(train, classes), runs=1)
    model = GDITDClassifier(preset=preset, random_state=0)
    fused = seconds(lambda: model.fit(train, classes), runs=1)
    new = np.resize(rows, (SCORED, rows.shape[1]))
    whole = SCORED / seconds(lambda: model.ood_score(new))
    verdicts = SCORED / seconds(lambda: model.verdict(new))
    encoded = model._encode(new).values
    products = SCORED / seconds(lambda: matrix_products(model, encoded))
    return {
        "preset": preset,
        "fit_seconds": fused,
        "plain_fit_seconds": plain,
        "fit_ratio": fused / plain,
        "rows_per_second": whole,
        "verdicts_per_second": verdicts,
        "ratio_to_gemm": whole / products,
    }


def matrix_products(model: GDITDClassifier, encoded: torch.Tensor) -> None:
    """One pass of all members' layers without anything between them."""
    network = model.model_.cohort.network
    weights = [value for name, value in network.items() if name.endswith("weight")]
    for chunk in torch.split(encoded, 1024):
        hidden = chunk.unsqueeze(0).expand(len(weights[0]), -1, -1)
        for weight in weights:
            hidden = torch.bmm(hidden, weight)


def seconds(work: Callable[[], object], runs: int = RUNS) -> float:
    """The shortest of a few runs."""
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def as_markdown(results: Results) -> str:
    """One line a preset."""
    headings = ["preset", "fit, s", "plain cohort, s", "ratio", "rows/s", "verdicts/s", "share of GEMM"]
    rows = [
        [
            one["preset"],
            f"{one['fit_seconds']:.1f}",
            f"{one['plain_fit_seconds']:.1f}",
            f"{one['fit_ratio']:.2f}",
            f"{one['rows_per_second']:,.0f}",
            f"{one['verdicts_per_second']:,.0f}",
            f"{one['ratio_to_gemm']:.2f}",
        ]
        for one in results
    ]
    return markdown(headings, rows) + "\n"


if __name__ == "__main__":
    main()
