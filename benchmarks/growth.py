"""How time and memory grow with rows, columns and classes, as slopes on logarithmic scales.

Each point is two processes: one makes a table of Gaussian classes and fits preset fast, one scores rows. Each says how
much processor time it took (on one thread, so neighbours on the machine hardly matter), and what it held at most
beyond what it held before. A slope is that of the straight line through the logarithms of the points: 1 means that
twice as much takes twice as long, 0 that it does not matter.

    python benchmarks/growth.py [--of rows,columns,classes] [--most 1000000] [--json] [--out FILE]
    python benchmarks/growth.py --join FILE... --out FILE     # one table of what several runs with --json printed
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from report import Results, markdown, parser_for, report

ROWS, COLUMNS, CLASSES = 20_000, 20, 8  # where they do not vary
SCORED = 20_000
GRIDS: dict[str, list[int]] = {
    "rows": [10_000, 30_000, 100_000, 300_000, 1_000_000],
    "streamed rows": [1_000_000, 3_000_000, 10_000_000],
    "scored rows": [10_000, 100_000, 1_000_000],
    "columns": [10, 50, 250, 1_000, 5_000],
    "classes": [2, 10, 50, 200, 1_000],
}
FIGURES = {
    "fit_seconds": "fit, s",
    "fit_mib": "fit, MiB",
    "score_seconds": "score, s",
    "score_mib": "score, MiB",
    "model_mib": "model file, MiB",
}
MIB = 2**20


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--of", default=",".join(GRIDS), help=f"some of: {', '.join(GRIDS)}")
    parser.add_argument("--most", type=int, default=10**9, help="leave out larger points")
    parser.add_argument("--join", nargs="+", type=Path, default=[], help="results of earlier runs, as JSON")
    parser.add_argument("--point", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.point:
        print(json.dumps(measured(**json.loads(arguments.point))))
        return
    if arguments.join:
        report([one for path in arguments.join for one in json.loads(path.read_text())], as_markdown, arguments)
        return
    chosen = [name for name in GRIDS if name in arguments.of.split(",")]
    results = [at(name, value) for name in chosen for value in GRIDS[name] if value <= arguments.most]
    report(results, as_markdown, arguments)


def at(name: str, value: int) -> dict[str, Any]:
    """One point: fit in a process, score in another, which has no memory left over from the fit."""
    point = {"n_rows": ROWS, "n_columns": COLUMNS, "n_classes": CLASSES, "n_scored": SCORED, "streamed": False}
    changed = {"rows": "n_rows", "streamed rows": "n_rows", "scored rows": "n_scored"}.get(name, f"n_{name}")
    point |= {changed: value, "streamed": name == "streamed rows"}
    found: dict[str, Any] = {"grid": name, "value": value}
    with tempfile.TemporaryDirectory() as folder:
        for step in ("fit", "score"):
            found |= in_a_process(point | {"step": step, "folder": folder})
    print(found, file=sys.stderr)
    return found


def in_a_process(point: dict[str, Any]) -> dict[str, Any]:
    """What a process of this script says about a point."""
    done = subprocess.run(
        [sys.executable, __file__, "--point", json.dumps(point)],
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


# --- in the process of a point ---


def measured(step: str, folder: str, **point: Any) -> dict[str, float]:
    """Fit or score; what is imported and compiled on first use is so before the clock starts."""
    from gditd import GDITDClassifier  # noqa: PLC0415 - torch takes seconds, and the parent needs none of it

    warnings.simplefilter("ignore")
    n_classes, n_columns = point["n_classes"], point["n_columns"]
    centres = np.random.default_rng(0).normal(scale=2, size=(n_classes, n_columns)).astype(np.float32)
    warm, labels = drawn(200, centres[: min(n_classes, 3)], seed=1)
    GDITDClassifier(preset="fast", max_epochs=1, random_state=0).fit(warm, labels).ood_score(warm)
    model = Path(folder) / "m.gditd"
    return score_cost(model, centres, point) if step == "score" else fit_cost(model, centres, point)


def fit_cost(path: Path, centres: np.ndarray, point: dict[str, Any]) -> dict[str, float]:
    """Fit, and keep the model."""
    from gditd import GDITDClassifier  # noqa: PLC0415

    model = GDITDClassifier(preset="fast", random_state=0)
    if point["streamed"]:
        table = path.with_name("table.parquet")
        write(table, point["n_rows"], centres)
        seconds, mib = cost(lambda: model.fit_parquet(table, "kind", stream=True))
    else:
        rows, labels = drawn(point["n_rows"], centres, seed=2)
        seconds, mib = cost(lambda: model.fit(rows, labels))
    model.save(path)
    return {
        "fit_seconds": seconds,
        "fit_mib": mib,
        "learned_from": int(model.class_counts_.sum()),
        "model_mib": path.stat().st_size / MIB,
    }


def score_cost(path: Path, centres: np.ndarray, point: dict[str, Any]) -> dict[str, float]:
    """Load the model and score; what the model itself takes counts as memory."""
    from gditd import GDITDClassifier, load  # noqa: PLC0415

    rows, _ = drawn(point["n_scored"], centres[:, : point["n_columns"]], seed=3)
    loaded: list[GDITDClassifier] = []

    def work() -> None:
        loaded.append(load(path))

    _, of_model = cost(work)
    seconds, mib = cost(lambda: scored(loaded[0], rows))
    return {"score_seconds": seconds, "score_mib": of_model + mib}


def scored(model: Any, rows: np.ndarray, chunk: int = 16_384) -> None:
    """Score as the command line does, a chunk at a time."""
    for start in range(0, len(rows), chunk):
        model.verdict(rows[start : start + chunk])


def drawn(n_rows: int, centres: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of all classes in equal parts."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % len(centres)
    return rng.standard_normal((n_rows, centres.shape[1]), dtype=np.float32) + centres[labels], labels


def write(path: Path, n_rows: int, centres: np.ndarray, piece: int = 250_000) -> None:
    """The same as Parquet, a row group at a time."""
    with_names = [f"c{place}" for place in range(centres.shape[1])]
    schema = pa.schema([*((name, pa.float32()) for name in with_names), ("kind", pa.int64())])
    with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for start in range(0, n_rows, piece):
            rows, labels = drawn(min(piece, n_rows - start), centres, seed=start)
            writer.write_table(pa.table([*(np.ascontiguousarray(c) for c in rows.T), labels], schema=schema))


def cost(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of processor time, and the most memory beyond what was held before, MiB."""
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    before = status("VmRSS")
    started = time.process_time()
    work()
    return time.process_time() - started, status("VmHWM") - before


def status(name: str) -> float:
    """A line of the process's status, MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


# --- the table ---


def slope(points: Results, figure: str) -> float:
    """The slope of the logarithm of a figure by that of the size."""
    sizes, figures = ([max(one[key], 1e-3) for one in points] for key in ("value", figure))
    return float(np.polyfit(np.log(sizes), np.log(figures), 1)[0]) if len(points) > 1 else float("nan")


def as_markdown(results: Results) -> str:
    """A table for each thing that grows, with the slopes below."""
    parts = [
        f"Preset fast, one thread. What does not grow: {ROWS:,} rows, {COLUMNS} columns, {CLASSES} classes, "
        f"{SCORED:,} rows scored. Memory is what a step took beyond what was held before. Made by "
        "`python benchmarks/growth.py --out docs/results/growth.md`. Seconds are processor time: the machine was "
        "shared, which they feel less than a clock does; trust slopes and ratios more."
    ]
    for name in dict.fromkeys(one["grid"] for one in results):
        points = [one for one in results if one["grid"] == name]
        rows: list[list[object]] = [
            [f"{one['value']:,}", *(number(one[key]) for key in FIGURES), f"{one['learned_from']:,}"] for one in points
        ]
        rows.append(["slope", *(f"{slope(points, key):.2f}" for key in FIGURES), ""])
        parts.append(f"## {name.capitalize()}\n\n{markdown([name, *FIGURES.values(), 'learned from'], rows)}")
    return "# How cost grows\n\n" + "\n\n".join(parts) + "\n"


def number(value: float) -> str:
    """Two digits that tell."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


if __name__ == "__main__":
    main()
