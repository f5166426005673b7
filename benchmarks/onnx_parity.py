"""Do exported models say what gditd says? 100,000 rows of NSL-KDD and of gas, the presets fast and default.

The first class is left out of training and plays the unseen one. Where a table has fewer rows, they come again. The
same rows go through gditd and through onnxruntime, each on one thread, with numbers as double and as float; gditd is
then given the numbers as a float has them. Counted are verdicts, most likely classes and p-values that are not equal,
the largest relative difference between two OOD scores, and the verdicts that differ from those of the rows as they
were, before any number was rounded to a float. Rows a second are of the verdict alone, from arrays in memory, in
seconds of one processor's time; the two take turns, and the best of a few rounds counts. Needs GDITD_DATA, or --data.

    python benchmarks/onnx_parity.py [--json] [--out FILE] [--data DIR] [--rows 100000]
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import onnxruntime
import pandas as pd
import torch
from threadpoolctl import threadpool_limits

from gditd import GDITDClassifier
from gditd.datasets import load_dataset
from gditd.integrations.onnx import Numbers, export_onnx
from report import Results, markdown, parser_for, report

TRAINED = 20_000
AT_ONCE = 2_000
TIMED = 20_000
RUNS = 5


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--data", help="the folder of the data sets' files; default: GDITD_DATA")
    parser.add_argument("--rows", type=int, default=100_000, help="rows of each table; default: 100000")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with threadpool_limits(1):
        results = [
            result
            for name in ("nsl-kdd", "gas")
            for preset in ("fast", "default")
            for result in measure(name, preset, arguments.data, arguments.rows)
        ]
    report(results, as_markdown, arguments)


def measure(name: str, preset: str, data: str | None, n_rows: int) -> Results:
    """One preset on one table, with either type of numbers."""
    dataset = load_dataset(name, data)
    table = dataset.X if isinstance(dataset.X, pd.DataFrame) else pd.DataFrame(dataset.X).add_prefix("x")
    order = np.random.default_rng(0).permutation(len(table))
    known = order[dataset.y[order] != np.unique(dataset.y)[0]][:TRAINED]
    model = GDITDClassifier(preset=preset, random_state=0).fit(table.iloc[known], dataset.y[known])
    rows = table.iloc[np.resize(order, n_rows)].reset_index(drop=True)
    unrounded = model.verdict(rows)
    results = []
    for numbers in get_args(Numbers):
        given = rows if numbers == "double" else rows.astype(dict.fromkeys(rows.select_dtypes("float"), np.float32))
        figures = exported(model, numbers, given, unrounded)
        results.append({"table": name, "preset": preset, "numbers": numbers, **figures})
    return results


def exported(model: GDITDClassifier, numbers: Numbers, rows: pd.DataFrame, unrounded: pd.DataFrame) -> dict[str, Any]:
    """What the graph says and costs, beside the model itself."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        export_onnx(model, path, numbers=numbers)
        model.save(Path(folder) / "model.gditd")
        sizes = [file.stat().st_size / 1e6 for file in (path, Path(folder) / "model.gditd")]
        session = one_thread_session(path)
    some = rows[:TIMED]
    feeds = [as_feeds(session, some[start : start + AT_ONCE]) for start in range(0, len(some), AT_ONCE)]
    times = seconds(lambda: [session.run(["verdict"], part) for part in feeds], lambda: model.verdict(some))
    return {
        **compared(model.verdict(rows), unrounded, session, rows),
        "onnx_mb": sizes[0],
        "model_mb": sizes[1],
        "onnx_rows_per_second": len(some) / times[0],
        "gditd_rows_per_second": len(some) / times[1],
    }


def one_thread_session(path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # it would warn that alpha has a default
    return onnxruntime.InferenceSession(path, options)


def as_feeds(session: Any, rows: pd.DataFrame) -> dict[str, Any]:
    """One input a column; a column that was the same in all of training is none."""
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(string)": object}
    return {given.name: rows[given.name].to_numpy(kinds[given.type]).reshape(-1, 1) for given in session.get_inputs()}


def compared(expected: pd.DataFrame, unrounded: pd.DataFrame, session: Any, rows: pd.DataFrame) -> dict[str, Any]:
    """How often, and how much, the two differ."""
    names = ["verdict", "known_class", "p_value", "ood_score"]
    parts = [
        session.run(names, as_feeds(session, rows[start : start + AT_ONCE])) for start in range(0, len(rows), AT_ONCE)
    ]
    found = {name: np.concatenate([part[place] for part in parts]) for place, name in enumerate(names)}
    scores = expected["ood_score"].to_numpy(np.float64)
    apart = np.abs(found["ood_score"] - scores)
    relative = np.divide(apart, np.abs(scores), out=np.where(apart > 0, np.inf, 0.0), where=scores != 0)
    return {
        "rows": len(rows),
        "called_ood": float((expected["verdict"] == "OOD").mean()),
        "other_verdict": int((found["verdict"] != expected["verdict"].astype(str)).sum()),
        "other_than_unrounded": int((found["verdict"] != unrounded["verdict"].astype(str)).sum()),
        "other_known_class": int((found["known_class"] != expected["known_class"].astype(str)).sum()),
        "other_p_value": int((found["p_value"] != expected["p_value"]).sum()),
        "largest_relative": float(relative.max()),
        "equal_scores": float((apart == 0).mean()),
    }


def seconds(*works: Callable[[], object]) -> list[float]:
    """The shortest of a few runs of each, taking turns."""
    rounds = [[processor_seconds(work) for work in works] for _ in range(RUNS)]
    return [min(times) for times in zip(*rounds, strict=True)]


def processor_seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def as_markdown(results: Results) -> str:
    """One table for what they say, one for what they cost."""
    said = [
        [
            one["table"],
            one["preset"],
            one["numbers"],
            f"{one['rows']:,}",
            f"{one['called_ood']:.1%}",
            one["other_verdict"],
            one["other_known_class"],
            one["other_p_value"],
            f"{one['largest_relative']:.0e}",
            f"{one['equal_scores']:.1%}",
            one["other_than_unrounded"],
        ]
        for one in results
    ]
    costs = [
        [
            one["table"],
            one["preset"],
            one["numbers"],
            f"{one['onnx_mb']:.1f}",
            f"{one['model_mb']:.1f}",
            f"{one['onnx_rows_per_second']:,.0f}",
            f"{one['gditd_rows_per_second']:,.0f}",
            f"{one['onnx_rows_per_second'] / one['gditd_rows_per_second']:.2f}",
        ]
        for one in results
    ]
    headings = ["table", "preset", "numbers", "rows", "called OOD", "other verdicts", "other classes", "other p-values"]
    headings += ["OOD scores apart, relative", "OOD scores equal to the bit", "verdicts other than before rounding"]
    costs_headings = [
        "table",
        "preset",
        "numbers",
        "ONNX, MB",
        "model file, MB",
        "ONNX rows/s",
        "gditd rows/s",
        "ratio",
    ]
    tables = [
        markdown(headings, said, texts=["preset", "numbers"]),
        markdown(costs_headings, costs, texts=["preset", "numbers"]),
    ]
    return "\n\n".join(tables) + "\n"


if __name__ == "__main__":
    main()
