"""A real cluster of one master and two workers, and one of them killed while it works."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.conftest import invoke
from tests.cli.test_process import finish, start
from tests.integrations.spark.conftest import QUICK_JAVA

pyspark = pytest.importorskip("pyspark", reason="needs pyspark: pip install 'gditd[spark]'")

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.filterwarnings("ignore")]

PARTS = 16
PATIENCE = 240  # seconds, on a busy machine
SETTINGS = f"""
spark.driver.extraJavaOptions {QUICK_JAVA}
spark.executor.extraJavaOptions {QUICK_JAVA}
spark.ui.enabled false
spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
spark.executor.memory 512m
spark.task.maxFailures 8
spark.sql.files.maxPartitionBytes 4m
spark.port.maxRetries 50
"""


def wait_until(true: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.02)


@contextmanager
def running(log: Path, *args: object) -> Iterator[subprocess.Popen[bytes]]:
    """One of Spark's own processes, with all that it starts; gone at the end."""
    home = Path(pyspark.__file__).parent
    # Tests that are killed leave nothing running, where the system can see to that.
    with_us = ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []
    command = [*with_us, str(home / "bin" / "spark-class"), *map(str, args)]
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
        "SPARK_NO_DAEMONIZE": "1",
    }
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment, start_new_session=True)
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all in its group, as a machine that loses power does."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def cluster(java: None, tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The master's address, and its two workers."""
    own = ("--host", "127.0.0.1", "--port", 0, "--webui-port", 0)
    with ExitStack() as stack:
        log = tmp_path / "master.log"
        stack.enter_context(running(log, "org.apache.spark.deploy.master.Master", *own))
        wait_until(lambda: "spark://127.0.0.1:" in log.read_text(), "the start of the master")
        found = re.search(r"spark://127\.0\.0\.1:\d+", log.read_text())
        assert found
        workers = []
        for number in range(2):
            room = ("--cores", 1, "--memory", "600m", "--work-dir", tmp_path / f"work{number}")
            arguments = ("org.apache.spark.deploy.worker.Worker", *own, *room, found[0])
            workers.append(stack.enter_context(running(tmp_path / f"worker{number}.log", *arguments)))
        for number in range(2):
            log_of_worker = tmp_path / f"worker{number}.log"
            wait_until(lambda log=log_of_worker: "Successfully registered" in log.read_text(), "the start of a worker")
        yield found[0], workers


@pytest.fixture
def many_rows(new_rows: pd.DataFrame, tmp_path: Path) -> Path:
    """A folder of files, each of which is a task."""
    folder = tmp_path / "rows"
    folder.mkdir()
    many = pd.concat([new_rows] * 20, ignore_index=True)
    for part in range(PARTS):
        many.assign(id=range(part * len(many), (part + 1) * len(many))).to_parquet(folder / f"{part:02}.parquet")
    return folder


def test_a_worker_is_killed_and_nothing_is_lost(cluster, model_file, many_rows, tmp_path, monkeypatch):
    master, workers = cluster
    (tmp_path / "spark-defaults.conf").write_text(SETTINGS)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    out = tmp_path / "verdicts"
    process = start("predict", model_file, many_rows, "--engine", "spark", "--master", master, "--out", out)

    def finished() -> int:
        return len(list(tmp_path.glob(".verdicts.*/verdicts/_temporary/0/task_*")))

    try:
        wait_until(lambda: finished() >= 2 or process.poll() is not None, "the end of the first tasks")
        kill(workers[0])
        assert finished() < PARTS, "the job was over before the worker was killed"
        code, stdout, stderr = finish(process, timeout=PATIENCE)
    finally:
        process.kill()
    assert (code, stdout) == (0, ""), stderr
    assert "Telling app of lost executor" in (tmp_path / "master.log").read_text()

    single = tmp_path / "single.parquet"
    everything = pd.concat([pd.read_parquet(path) for path in sorted(many_rows.iterdir())], ignore_index=True)
    everything.to_parquet(tmp_path / "all.parquet")
    result = invoke("predict", model_file, tmp_path / "all.parquet", "--out", single)
    assert result.exit_code == 0, result.stderr
    found = pd.read_parquet(out).sort_values("id").reset_index(drop=True)
    pd.testing.assert_frame_equal(found, pd.read_parquet(single))
    told, expected = (text.splitlines()[-1].split(" Written")[0] for text in (stderr, result.stderr))
    assert told == expected, "rows are counted once, however often their task ran"
