"""What HTTP costs: one-row requests beside a bare FastAPI endpoint, and a large CSV beside `gditd predict`.

The bare endpoint parses the same body with the same pydantic model and answers with a constant; uvicorn runs both in
the same way. The load comes from a process of its own, which keeps its connections busy; bare endpoint and service take
turns, so that a busy neighbour hits both, and the medians over rounds are compared. `gditd predict` is timed without
the start of the process.

    python benchmarks/service.py [--json] [--connections 32] [--seconds 4] [--rounds 5] [--rows 100000]
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import multiprocessing
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import uvicorn
import uvloop
from fastapi import FastAPI

from gditd import GDITDClassifier
from gditd.cli.tasks.predict import predict
from gditd.serve.parsing import RowsBody
from gditd.serve.run import listen

VERDICT = {"verdict": "good", "known_class": "good", "p_value": 0.5, "ood_score": -1.25}
HEAD_END = b"\r\n\r\n"


def make_table(rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.typing.NDArray[Any]]:
    """Ten numbers and two categories, three classes."""
    rng = np.random.default_rng(seed)
    code = rng.choice(3, rows, p=[0.6, 0.3, 0.1])
    columns: dict[str, Any] = {
        f"number_{i}": (3.0 * code * (i < 3) + rng.normal(size=rows)).round(4) for i in range(10)
    }
    columns["region"] = rng.choice(["north", "south", "west"], rows)
    columns["channel"] = rng.choice(["app", "web", "phone", "shop"], rows)
    return pd.DataFrame(columns), np.array(["good", "worn", "broken"])[code]


# --- the two servers ---


def run_bare(port: int) -> None:
    """Serve a constant."""
    app = FastAPI()

    @app.post("/v1/predict")
    async def bare(body: RowsBody) -> dict[str, Any]:
        return {"verdicts": [VERDICT] * len(body.rows)}

    uvicorn.run(app, port=port, log_level="error", access_log=False)


@contextmanager
def bare_server() -> Iterator[int]:
    """The bare endpoint in a process of its own."""
    with listen("127.0.0.1", 0) as free:
        port = int(free.getsockname()[1])
    process = multiprocessing.get_context("spawn").Process(target=run_bare, args=(port,), daemon=True)
    process.start()
    wait_for(lambda: post(port, b'{"rows": []}', "application/json"))
    try:
        yield port
    finally:
        process.terminate()
        process.join()


@contextmanager
def gditd_server(model: Path) -> Iterator[int]:
    """`gditd serve` as users start it, its log kept in a file."""
    command = [sys.executable, "-m", "gditd.cli", "serve", str(model), "--port", "0"]
    with model.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdout is not None
        found = re.search(r":(\d+)$", process.stdout.readline().strip())
        assert found, "gditd serve did not start"
        try:
            yield int(found[1])
        finally:
            process.terminate()
            process.wait()


def wait_for(attempt: Callable[[], object]) -> None:
    """Try until it works, for half a minute at most."""
    for _ in range(300):
        try:
            attempt()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("the server did not start")


def post(port: int, body: bytes, kind: str, accept: str = "application/json") -> bytes:
    """One request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("POST", "/v1/predict", body, {"content-type": kind, "accept": accept})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    if answer.status != 200:
        raise RuntimeError(f"status {answer.status}: {content[:200]!r}")
    return content


# --- the load ---


class Connection(asyncio.Protocol):
    """Sends a request as soon as the answer to the last one is whole."""

    def __init__(self, request: bytes, seconds: list[float]) -> None:
        self._request, self._seconds = request, seconds
        self._answer = b""
        self._sent = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own is no subclass
        self._send()

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head, end, body = self._answer.partition(HEAD_END)
        if not end or len(body) < int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]):
            return
        if b" 200 " not in head[:16]:
            raise RuntimeError(self._answer.decode())
        self._seconds.append(time.perf_counter() - self._sent)
        self._send()

    def _send(self) -> None:
        assert self._transport is not None
        self._answer = b""
        self._sent = time.perf_counter()
        self._transport.write(self._request)


async def load(port: int, body: bytes, connections: int, seconds: float) -> dict[str, float]:
    """Keep connections busy for some seconds."""
    head = f"POST /v1/predict HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    request = head.encode() + HEAD_END + body
    times: list[float] = []
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: Connection(request, times), "127.0.0.1", port) for _ in range(connections)
    ]
    await asyncio.sleep(0.3)
    times.clear()
    start = time.perf_counter()
    await asyncio.sleep(seconds)
    done, elapsed = sorted(times), time.perf_counter() - start
    for transport, _ in made:
        transport.abort()
    return {
        "requests_per_second": len(done) / elapsed,
        "p50_ms": 1000 * statistics.median(done),
        "p99_ms": 1000 * done[int(0.99 * len(done))],
    }


def run_load(port: int, body: bytes, connections: int, seconds: float) -> dict[str, float]:
    """Run the load; this is what the second process does."""
    return uvloop.run(load(port, body, connections, seconds))


# --- the measurements ---


def measure_rows(model: Path, row: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """One row a request, on both servers in turn."""
    body = json.dumps({"rows": [row]}).encode()
    results: dict[str, list[dict[str, float]]] = {"bare": [], "gditd": []}
    with (
        multiprocessing.get_context("spawn").Pool(1) as second,
        bare_server() as bare,
        gditd_server(model) as ours,
    ):
        for _ in range(options.rounds):
            for name, port in (("bare", bare), ("gditd", ours)):
                results[name].append(second.apply(run_load, (port, body, options.connections, options.seconds)))
    medians: dict[str, Any] = {
        name: {figure: statistics.median(one[figure] for one in rounds) for figure in rounds[0]}
        for name, rounds in results.items()
    }
    medians["ratio"] = medians["gditd"]["requests_per_second"] / medians["bare"]["requests_per_second"]
    return medians


def measure_csv(model: Path, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """A large CSV to the service, and the same to `gditd predict`; rows a second, the best of the rounds."""
    table = folder / "new.csv"
    make_table(options.rows, seed=1)[0].to_csv(table, index=False)
    body = table.read_bytes()
    rates: dict[str, list[float]] = {"predict": [], "csv_to_csv": [], "csv_to_json": []}

    def timed(name: str, work: Callable[[], object]) -> None:
        start = time.perf_counter()
        work()
        rates[name].append(options.rows / (time.perf_counter() - start))

    def predicted() -> None:
        predict(model, table, out=folder / "o.csv", alpha=None, n_reasons=None, on_error="raise", quiet=True)

    with gditd_server(model) as port:
        for _ in range(options.rounds):
            timed("predict", predicted)
            timed("csv_to_csv", lambda: post(port, body, "text/csv", "text/csv"))
            timed("csv_to_json", lambda: post(port, body, "text/csv"))
    best: dict[str, Any] = {f"{name}_rows_per_second": max(found) for name, found in rates.items()}
    best["ratio"] = best["csv_to_csv_rows_per_second"] / best["predict_rows_per_second"]
    best["ratio_json"] = best["csv_to_json_rows_per_second"] / best["predict_rows_per_second"]
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=4.0, help="of load a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=100_000, help="of the CSV")
    parser.add_argument("--preset", default="default", help="of the model")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "model.gditd"
        train, labels = make_table(2_000)
        GDITDClassifier(preset=options.preset, max_epochs=5, random_state=0).fit(train, labels).save(model)
        row = json.loads(train.head(1).to_json(orient="records"))[0]
        result = {
            "one_row_requests": measure_rows(model, row, options),
            "csv_bodies": measure_csv(model, folder, options),
        }
    if options.json:
        print(json.dumps(result))
        return
    for name in ("bare", "gditd"):
        own = result["one_row_requests"][name]
        print(f"{name:6s}{own['requests_per_second']:8,.0f} requests/s", end="")
        print(f", p50 {own['p50_ms']:.1f} ms, p99 {own['p99_ms']:.1f} ms")
    print(f"ratio of requests/s {result['one_row_requests']['ratio']:.2f}")
    for name, value in result["csv_bodies"].items():
        print(f"{name} {value:,.2f}")


if __name__ == "__main__":
    main()
