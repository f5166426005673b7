"""What encoding costs beside reading: 1,000,000 rows of 10 number and 5 category columns.

Reading is pandas.read_parquet of the file, encoding is TableEncoder.transform of the frame it gives; the best
of several repeats of each, taken in turns so that a busy neighbour hits both.

    python benchmarks/encoding_speed.py [--json] [--rows N] [--repeats N]
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from gditd.tables import TableEncoder
from gditd.tables.numbers import NUMBER_MODULES

CATEGORIES = (3, 5, 8, 12, 20)


def make_table(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {f"number_{i}": rng.normal(size=rows) for i in range(10)}
    for i, count in enumerate(CATEGORIES):
        names = np.array([f"kind {j}" for j in range(count)], dtype=object)
        columns[f"category_{i}"] = pd.Series(names[rng.integers(0, count, rows)], dtype="str")
    return pd.DataFrame(columns)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(path: Path, numbers: Any, repeats: int) -> dict[str, float]:
    frame = pd.read_parquet(path)
    encoder = TableEncoder(numbers=numbers).fit(frame.head(100_000))
    read, encode = [], []
    for _ in range(repeats):
        read.append(seconds(lambda: pd.read_parquet(path)))
        encode.append(seconds(lambda: encoder.transform(frame)))
    return {
        "read_seconds": min(read),
        "encode_seconds": min(encode),
        "ratio": min(encode) / min(read),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="The cost of encoding beside that of reading.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        make_table(options.rows).to_parquet(path)
        result = {numbers: measure(path, numbers, options.repeats) for numbers in NUMBER_MODULES}
    if options.json:
        print(json.dumps(result))
        return
    for numbers, figures in result.items():
        print(f"{numbers:10s}" + "".join(f"  {name} {value:.3f}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
