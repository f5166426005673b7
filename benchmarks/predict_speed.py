"""`gditd predict` on a large CSV beside pyarrow.csv reading the same file, and the memory that it takes.

The table is floats; the label of the few rows to learn from is made of its first columns. Reading (pyarrow on all
cores) and predicting (CSV to CSV, as users start it) take turns, so that a busy neighbour hits both, and the best of
the rounds is compared. Memory is that of all processes together, sampled while they run: rss counts what they share
once for each, pss once. The ratio of processor seconds, which a neighbour changes less, is what idle cores would give.

    python benchmarks/predict_speed.py [--json] [--rows 1000000] [--columns 48] [--presets fast,default]
                                       [--workers 1,auto] [--rounds 3] [--folder DIR]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

from gditd import GDITDClassifier

ROWS_AT_ONCE = 50_000
TRAINING_ROWS = 4_000
FEW_ROWS = 100  # of a table that costs nothing but the start
SAMPLE_SECONDS = 0.05
MEGABYTE = 1e6


def floats(rows: int, columns: int, seed: int) -> pd.DataFrame:
    values = np.random.default_rng(seed).normal(size=(rows, columns))
    return pd.DataFrame(values, columns=[f"c{place}" for place in range(columns)])


def write_csv(path: Path, rows: int, columns: int) -> None:
    """Write the table piece by piece, unless an earlier run has left it."""
    if path.exists():
        return
    unfinished = path.with_suffix(".part")
    schema = pa.Table.from_pandas(floats(1, columns, 0), preserve_index=False).schema
    with pa.csv.CSVWriter(unfinished, schema) as writer:
        for start in range(0, rows, ROWS_AT_ONCE):
            piece = floats(min(ROWS_AT_ONCE, rows - start), columns, seed=1 + start)
            writer.write_table(pa.Table.from_pandas(piece, schema, preserve_index=False))
    unfinished.rename(path)


def fit(path: Path, preset: str, columns: int) -> None:
    table = floats(TRAINING_ROWS, columns, seed=0)
    labels = np.array(["a", "b", "c"])[np.digitize(table["c0"] + table["c1"], [-0.8, 0.9])]
    GDITDClassifier(preset=preset, random_state=0).fit(table, labels).save(path)


# --- memory ---


def family(pid: int) -> Iterator[int]:
    """A process and all that it has started."""
    yield pid
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from family(int(child))


def memory(pids: list[int], figure: str) -> float:
    """Megabytes of all processes together."""
    kilobytes = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            kilobytes += sum(int(line.split()[1]) for line in lines if line.startswith(f"{figure}:"))
    return kilobytes * 1024 / MEGABYTE


# --- the measurements ---


def predict(model: Path, table: Path, workers: str) -> dict[str, float]:
    """Run the command, and look at its memory meanwhile."""
    out = table.with_name("verdicts.csv")
    command = [sys.executable, "-m", "gditd.cli", "predict", str(model), str(table), "--out", str(out), "--quiet"]
    command += [] if workers == "auto" else ["--workers", workers]
    peak = {"rss_mb": 0.0, "pss_mb": 0.0}
    start, spent = time.perf_counter(), children_seconds()
    process = subprocess.Popen(command)
    while process.poll() is None:
        pids = list(family(process.pid))
        for name, figure in (("rss_mb", "Rss"), ("pss_mb", "Pss")):
            peak[name] = max(peak[name], memory(pids, figure))
        time.sleep(SAMPLE_SECONDS)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return {"seconds": time.perf_counter() - start, "cpu_seconds": children_seconds() - spent, **peak}


def children_seconds() -> float:
    """Processor seconds of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def read(table: Path) -> dict[str, float]:
    """Read the file with pyarrow."""
    start, spent = time.perf_counter(), time.process_time()
    pa.csv.read_csv(table)
    return {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - spent}


def measure(model: Path, table: Path, few: Path, workers: str, options: argparse.Namespace) -> dict[str, Any]:
    reading, predicting, starting = [], [], []
    for _ in range(options.rounds):
        reading.append(read(table))
        predicting.append(predict(model, table, workers))
        starting.append(predict(model, few, "1")["seconds"])
    start = min(starting)
    best = {
        f"{name}_{figure}": min(one[figure] for one in rounds)
        for name, rounds in (("read", reading), ("predict", predicting))
        for figure in ("seconds", "cpu_seconds")
    }
    return best | {
        "start_seconds": start,
        "rows_per_second": options.rows / best["predict_seconds"],
        "ratio": best["read_seconds"] / best["predict_seconds"],
        "ratio_without_start": best["read_seconds"] / (best["predict_seconds"] - start),
        "cpu_ratio": best["read_cpu_seconds"] / best["predict_cpu_seconds"],
        "rss_mb": max(one["rss_mb"] for one in predicting),
        "pss_mb": max(one["pss_mb"] for one in predicting),
    }


def run(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    table, few = folder / f"{options.rows}x{options.columns}.csv", folder / "few.csv"
    write_csv(table, options.rows, options.columns)
    floats(FEW_ROWS, options.columns, seed=0).to_csv(few, index=False)
    result: dict[str, Any] = {
        "rows": options.rows,
        "columns": options.columns,
        "csv_mb": table.stat().st_size / MEGABYTE,
    }
    for preset in options.presets.split(","):
        model = folder / f"{preset}.gditd"
        fit(model, preset, options.columns)
        for workers in options.workers.split(","):
            result[f"{preset}, workers {workers}"] = measure(model, table, few, workers, options)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description="The speed and memory of gditd predict on a large CSV.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=48)
    parser.add_argument("--presets", default="fast,default")
    parser.add_argument("--workers", default="1,auto", help="what to give to --workers; auto: nothing")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where to keep the table, which is large; default: a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        result = run(options, options.folder or Path(temporary))
    if options.json:
        print(json.dumps(result))
        return
    for name, found in result.items():
        figures = found if isinstance(found, dict) else {"": found}
        print(f"{name}: " + ", ".join(f"{figure} {value:,.2f}".strip() for figure, value in figures.items()))


if __name__ == "__main__":
    main()
