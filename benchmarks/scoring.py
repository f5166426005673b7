"""Rows scored a second: in memory, from file to file and in ONNX Runtime, beside what others need for the same rows.

Rows are those of a real table (drive, 48 columns; where its files are not at hand, woodland, which is generated),
repeated with a grain of noise. Every figure is also given as a ratio to one pass of the preset's own matrix products
over the encoded rows, on one thread: nothing that uses these networks can be faster. In memory, ONNX Runtime and the
peers run on one thread. Peers give scores and no verdicts, so gditd's scores are timed too. `gditd predict` is started
as users start it, with all cores; its time without that of its start is given too. Peers score as many rows as they
manage in a few seconds; their ratio is to the products of "fast". The works take turns, and the best of the rounds
counts.

    python benchmarks/scoring.py [--json] [--out FILE] [--data DIR] [--rows 500000] [--rounds 3]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import torch
from pyod.models.iforest import IForest
from pyod.models.knn import KNN
from sklearn.ensemble import ExtraTreesClassifier
from threadpoolctl import threadpool_limits

from gditd import GDITDClassifier
from gditd.datasets import Dataset, DatasetError, load_dataset
from gditd.integrations.onnx import export_onnx
from onnx_parity import AT_ONCE, as_feeds, one_thread_session
from report import Results, markdown, parser_for, report
from views_speed import matrix_products

TRAINED = 10_000
FEW_ROWS = 100  # whose scoring costs nothing but the start
PEER_SECONDS = 2.0
NOISE = 1e-6
ROWS_A_GROUP = 50_000

Work = Callable[[], object]


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--data", help="the folder of the data sets' files; default: GDITD_DATA")
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dataset = table_at_hand(arguments.data)
    train, labels, rows = drawn(dataset, arguments.rows)
    results: Results = []
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        tables = write_tables(rows, Path(folder))
        for preset in ("fast", "default"):
            model = GDITDClassifier(preset=preset, random_state=0).fit(train, labels)
            results += measured_preset(preset, model, rows, tables, arguments.rounds)
        products = results[0]["rows_per_second"]
        results += [measured_peer(name, peer, rows, products) for name, peer in peers(train, labels).items()]
    for one in results:
        one["table"] = dataset.name
    report(results, as_markdown, arguments)


# --- the rows ---


def table_at_hand(data: str | None) -> Dataset:
    try:
        return load_dataset("drive", data)
    except DatasetError as error:
        print(f"taking woodland, for drive is not at hand: {error}", file=sys.stderr)
        return load_dataset("woodland")


def drawn(dataset: Dataset, n_rows: int) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    """Rows to learn from with their labels, and rows to score."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(np.asarray(dataset.X, dtype=np.float64)).add_prefix("c")
    order = rng.permutation(len(table))
    repeated = table.to_numpy()[np.resize(order, n_rows)]
    repeated *= 1 + NOISE * rng.standard_normal(repeated.shape)
    learned = order[:TRAINED]
    return table.iloc[learned], np.asarray(dataset.y)[learned], pd.DataFrame(repeated, columns=table.columns)


def write_tables(rows: pd.DataFrame, folder: Path) -> dict[str, Path]:
    """The rows, and a few of them, as Parquet and as CSV."""
    found = {}
    for size, own in (("rows", rows), ("few", rows[:FEW_ROWS])):
        table = pa.Table.from_pandas(own, preserve_index=False)
        for kind in ("parquet", "csv"):
            found[f"{size}.{kind}"] = folder / f"{size}.{kind}"
        pa.parquet.write_table(table, found[f"{size}.parquet"], row_group_size=ROWS_A_GROUP)
        pa.csv.write_csv(table, found[f"{size}.csv"])
    return found


# --- gditd ---


def measured_preset(
    preset: str, model: GDITDClassifier, rows: pd.DataFrame, tables: dict[str, Path], n_rounds: int
) -> Results:
    """All ways to score with one preset."""
    folder = tables["rows.csv"].parent
    saved, exported = folder / f"{preset}.gditd", folder / f"{preset}.onnx"
    model.save(saved)
    export_onnx(model, exported)
    session = one_thread_session(exported)
    values = rows.to_numpy()
    encoded = model._encode(rows).values
    works: dict[str, Work] = {
        "matrix products": lambda: matrix_products(model, encoded),
        "numpy in memory": lambda: model.ood_score(values),
        "verdicts in memory": lambda: model.verdict(values),
        "ONNX Runtime": lambda: run_session(session, rows),
    }
    for kind, name in (("parquet", "Parquet to Parquet"), ("csv", "CSV to CSV")):
        works[name] = partial(predict, saved, tables[f"rows.{kind}"])
        works[f"{name}, start"] = partial(predict, saved, tables[f"few.{kind}"])
    return as_results(preset, len(rows), rounds(works, n_rounds))


def run_session(session: Any, rows: pd.DataFrame) -> None:
    for start in range(0, len(rows), AT_ONCE):
        session.run(["ood_score"], as_feeds(session, rows[start : start + AT_ONCE]))


def predict(model: Path, table: Path) -> None:
    """Run the command."""
    out = table.with_name(f"verdicts{table.suffix}")
    command = [sys.executable, "-m", "gditd.cli", "predict", str(model), str(table), "--out", str(out), "--quiet"]
    subprocess.run(command, check=True)


def rounds(works: dict[str, Work], n_rounds: int) -> dict[str, float]:
    """The shortest time of each work."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(n_rounds):
        for name, work in works.items():
            times[name].append(seconds(work))
    return {name: min(own) for name, own in times.items()}


def seconds(work: Work) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def as_results(preset: str, n_rows: int, times: dict[str, float]) -> Results:
    """Speeds, and their ratios to the matrix products and to verdicts in memory."""
    products, memory = n_rows / times["matrix products"], n_rows / times["verdicts in memory"]
    results: Results = []
    for name, own in times.items():
        if name.endswith(", start"):
            continue
        start = times.get(f"{name}, start", 0.0)
        results.append(
            {
                "name": f"{preset}, {name}",
                "rows_per_second": n_rows / own,
                "ratio_to_gemm": n_rows / own / products,
                "ratio_to_memory": n_rows / own / memory,
                "start_seconds": start,
                "ratio_to_memory_without_start": n_rows / (own - start) / memory,
            }
        )
    return results


# --- peers ---


def peers(train: pd.DataFrame, labels: np.ndarray) -> dict[str, Callable[[np.ndarray], object]]:
    """What others score rows with, fitted on the same rows."""
    known = train.to_numpy()
    with redirect_stdout(sys.stderr):
        knn, forest = KNN(n_jobs=1).fit(known), IForest(n_jobs=1, random_state=0).fit(known)
    trees = ExtraTreesClassifier(n_jobs=1, random_state=0).fit(known, labels)
    return {
        "PyOD KNN": knn.decision_function,
        "PyOD IForest": forest.decision_function,
        "scikit-learn ExtraTrees predict_proba": trees.predict_proba,
    }


def measured_peer(
    name: str, score: Callable[[np.ndarray], object], rows: pd.DataFrame, products: float
) -> dict[str, Any]:
    """Score twice as many rows each time, until it takes long enough to tell."""
    values = rows.to_numpy()
    n_rows = 1_000
    while True:
        some = values[:n_rows]
        taken = seconds(partial(score, some))
        if taken >= PEER_SECONDS or n_rows >= len(values):
            speed = len(some) / taken
            return {"name": name, "rows_per_second": speed, "ratio_to_gemm": speed / products}
        n_rows *= 2


def as_markdown(results: Results) -> str:
    """One line a way to score."""
    headings = ["what", "rows/s", "ratio to the matrix products", "ratio to memory", "without the start"]
    lines = [
        [
            one["name"],
            f"{one['rows_per_second']:,.0f}",
            f"{one['ratio_to_gemm']:.3f}",
            f"{one['ratio_to_memory']:.2f}" if "ratio_to_memory" in one else "",
            f"{one['ratio_to_memory_without_start']:.2f}" if one.get("start_seconds") else "",
        ]
        for one in results
    ]
    return markdown(headings, lines) + "\n"


if __name__ == "__main__":
    main()
