"""A table larger than memory should be: written, fitted and scored by the command line, with the peak memory of each.

Eight classes, from eleven million rows down to 500, in 48 float32 columns; the last tenth of the columns is noise.
Peak memory is the largest resident size (VmHWM) of the command and the processes it starts, added up.

    python benchmarks/large_table.py FOLDER [--rows 20000000] [--preset fast] [--json] [--out FILE]

FOLDER is made, and kept: delete it yourself. A table that is there already is used again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from report import Results, markdown, parser_for, report

COLUMNS = 48
ROW_GROUP = 250_000
SHARES = (0.55, 0.2, 0.12, 0.08, 0.04, 0.0095, 0.0004)  # and RAREST rows of an eighth class
RAREST = 500
LOOK_EVERY = 0.2  # seconds


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--write-only", action="store_true", help="make the table and stop")
    arguments = parser.parse_args()
    table = arguments.folder / "table.parquet"
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if not table.exists():
        write(table, arguments.rows)
    if arguments.write_only:
        return
    model, verdicts = arguments.folder / "m.gditd", arguments.folder / "verdicts.parquet"
    steps = {
        "fit": ["fit", table, "--target", "kind", "--preset", arguments.preset, "--out", model],
        "predict": ["predict", model, table, "--out", verdicts],
    }
    size = f"{arguments.rows:,} x {COLUMNS}, {table.stat().st_size / 2**30:.1f} GiB"
    report([{"step": step, "table": size, **measured(words)} for step, words in steps.items()], as_markdown, arguments)


def write(path: Path, n_rows: int) -> None:
    """Write the table a row group at a time, beside its place until it is whole."""
    rng = np.random.default_rng(0)
    counts = [round(share * (n_rows - RAREST)) for share in SHARES[1:]]
    counts = [n_rows - RAREST - sum(counts), *counts, RAREST]
    centres = rng.normal(scale=1.5, size=(len(counts), COLUMNS)).astype(np.float32)
    centres[:, -COLUMNS // 10 :] = 0
    spreads = rng.uniform(0.6, 1.4, size=(len(counts), COLUMNS)).astype(np.float32)
    names = [f"c{place}" for place in range(COLUMNS)]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("kind", pa.string())])
    labels = pa.array([f"kind {number}" for number in range(len(counts))])
    left = np.array(counts)
    unfinished = path.with_suffix(".unfinished")
    with pq.ParquetWriter(unfinished, schema, compression="snappy", use_dictionary=["kind"]) as writer:
        while left.sum():
            own = rng.multivariate_hypergeometric(left, min(ROW_GROUP, int(left.sum())), method="marginals")
            left -= own
            codes = rng.permutation(np.repeat(np.arange(len(counts)), own))
            rows = rng.standard_normal((len(codes), COLUMNS), dtype=np.float32) * spreads[codes] + centres[codes]
            columns = [pa.array(np.ascontiguousarray(column)) for column in rows.T]
            writer.write_table(pa.table([*columns, labels.take(pa.array(codes))], schema=schema))
    unfinished.rename(path)


def measured(words: list[Any]) -> dict[str, float]:
    """Run a command and watch it: seconds, and the peak of the memory of its processes together."""
    started = time.perf_counter()
    command = subprocess.Popen([sys.executable, "-m", "gditd.cli", *map(str, words)], env=os.environ | one_thread())
    peaks: dict[int, float] = {}
    while command.poll() is None:
        for pid in family(command.pid):
            peaks[pid] = max(peaks.get(pid, 0.0), peak_of(pid))
        time.sleep(LOOK_EVERY)
    if command.returncode:
        raise SystemExit(command.returncode)
    return {
        "seconds": time.perf_counter() - started,
        "processes": len(peaks),
        "largest_gib": max(peaks.values()),
        "together_gib": sum(peaks.values()),
    }


def one_thread() -> dict[str, str]:
    """Small networks and many threads do not go together."""
    return {"OMP_NUM_THREADS": "1"}


def family(pid: int) -> list[int]:
    """A process and all that it started."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(one for child in children for one in family(int(child)))]


def peak_of(pid: int) -> float:
    """The largest resident size of a process so far, GiB."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 2**20 for line in lines if line.startswith("VmHWM")), 0.0)


def as_markdown(results: Results) -> str:
    """One line a step."""
    headings = ["step", "table", "seconds", "processes", "largest, GiB", "all together, GiB"]
    rows = [
        [
            one["step"],
            one["table"],
            f"{one['seconds']:.0f}",
            one["processes"],
            f"{one['largest_gib']:.2f}",
            f"{one['together_gib']:.2f}",
        ]
        for one in results
    ]
    return markdown(headings, rows, texts=["table"]) + "\n"


if __name__ == "__main__":
    main()
