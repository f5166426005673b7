"""A real `gditd serve` process to be rough with: what it answers, what it logs, how much memory it takes."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.robustness.model_bytes import model_bytes

MIB = 2**20
REFUSALS = frozenset({400, 401, 404, 405, 406, 408, 413, 415, 422, 431})
BUSY = frozenset({503, 504})
LONGEST_ERROR = 4_000  # bytes


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def message(self) -> str:
        return str(json.loads(self.body)["error"]["message"])


class Served:
    """The process."""

    def __init__(self, process: subprocess.Popen[str], port: int, log: Path) -> None:
        self.process, self.port, self.log = process, port, log
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._read = 0

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """One request, over a connection that is kept while the service keeps it."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            return self._ask(method, path, body, named)
        except (http.client.RemoteDisconnected, ConnectionError):  # closed since the last one
            self._connection.close()
            return self._ask(method, path, body, named)

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())

    def memory(self, figure: str = "VmRSS") -> int:
        """Bytes of memory that the process has; `VmHWM` for the most it ever had."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(rf"{figure}:\s+(\d+) kB", status)
        assert found, status
        return 1024 * int(found[1])

    def new_log_lines(self) -> list[dict[str, Any]]:
        """What was logged since the last time; every line is JSON, and none a traceback."""
        text = self.log.read_text()
        lines, self._read = text[self._read :].splitlines(), len(text)
        assert "Traceback" not in "".join(lines), lines
        return [json.loads(line) for line in lines]

    def assert_unharmed(self) -> None:
        """It runs, answers, and has met nothing that it did not expect."""
        assert self.process.poll() is None, f"the service died: {self.log.read_text()[-2_000:]}"
        started = time.monotonic()
        assert self.ask("GET", "/health").status == 200
        assert time.monotonic() - started < 10
        for line in self.new_log_lines():
            assert "error" not in line, line
            assert line.get("status") != 500, line


@contextmanager
def served(folder: Path, *options: object) -> Iterator[Served]:
    """`gditd serve` of a small model, as a user starts it."""
    (folder / "parts.gditd").write_bytes(model_bytes("fast"))
    command = [sys.executable, "-m", "gditd.cli", "serve", str(folder / "parts.gditd"), "--port", "0", "--quiet"]
    log = folder / "log"
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            [*command, *map(str, options)],
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    try:
        assert process.stdout is not None
        found = re.search(r":(\d+)$", process.stdout.readline().strip())
        assert found, log.read_text()
        yield Served(process, int(found[1]), log)
    finally:
        process.kill()
        process.wait()


def assert_designed(answer: Answer) -> Answer:
    """A verdict on every row, or a refusal in one line of JSON."""
    assert answer.status in {200, *REFUSALS, *BUSY}, (answer.status, answer.body[:500])
    if answer.status == 200:
        return answer
    assert answer.headers["content-type"] == "application/json"
    assert len(answer.body) < LONGEST_ERROR
    assert b"\n" not in answer.body
    assert b"Traceback" not in answer.body
    assert answer.message.strip()
    if answer.status == 503:
        assert answer.headers["retry-after"]
    return answer
