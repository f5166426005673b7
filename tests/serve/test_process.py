"""The real command: signals, ports, exit codes. Each start costs seconds, so there are few."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

GDITD = [sys.executable, "-m", "gditd.cli", "serve"]


class Service:
    """`gditd serve` on a free port."""

    def __init__(self, log, *args):
        self.log = log
        # A file, because a pipe that nobody reads fills up and then holds up whoever writes to it.
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(
                [*GDITD, *map(str, args), "--port", "0"], stdout=subprocess.PIPE, stderr=stderr, text=True
            )
        self.first_line = self.process.stdout.readline()
        found = re.search(r" on http://127\.0\.0\.1:(\d+)$", self.first_line.strip())
        assert found, log.read_text()
        self.port = int(found[1])

    def ask(self, rows):
        return ask(self.port, rows)

    def end(self):
        """Exit code, what is left on stdout, and the log."""
        stdout, _ = self.process.communicate(timeout=60)
        return self.process.returncode, stdout, self.log.read_text()


def ask(port, rows):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/v1/predict", json.dumps({"rows": rows}), {"content-type": "application/json"})
    answer = connection.getresponse()
    status, body = answer.status, json.loads(answer.read())
    connection.close()
    return status, body


@pytest.fixture
def start(tmp_path):
    started = []

    def begin(*args):
        started.append(Service(tmp_path / "log", *args))
        return started[-1]

    yield begin
    for service in started:
        if service.process.poll() is None:
            service.process.kill()
            service.process.wait()


def test_reload_under_traffic(start, model_file, tmp_path, rows):
    path = tmp_path / "parts.gditd"
    shutil.copy(model_file, path)
    service = start(path)
    statuses, done = [], threading.Event()

    def traffic():
        while not done.is_set():
            statuses.append(service.ask(rows[:2])[0])

    asking = threading.Thread(target=traffic)
    asking.start()
    try:
        for content in (model_file.read_bytes(), b"broken"):
            path.write_bytes(content)
            before = len(statuses)
            os.kill(service.process.pid, signal.SIGHUP)
            time.sleep(2)
            assert len(statuses) > before
    finally:
        done.set()
        asking.join()
    assert set(statuses) == {200}
    service.process.send_signal(signal.SIGTERM)
    assert service.process.stdout.readline().startswith("The page for people: http://")
    code, _, log = service.end()
    assert code == 0
    events = [line for line in map(json.loads, log.splitlines()) if "message" in line]
    assert [event["message"] for event in events] == [
        "reloaded",
        "a model was not reloaded, the old one stays",
        "reloaded",
    ]


def test_a_request_in_flight_is_answered_before_the_end(start, model_file, new_rows):
    service = start(model_file, "--quiet")
    head, *lines = new_rows.to_csv(index=False).splitlines(keepends=True)
    body = (head + "".join(lines) * 4_000).encode()
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    connection.request("POST", "/v1/predict", body, {"content-type": "text/csv"})
    time.sleep(0.2)
    service.process.send_signal(signal.SIGINT)
    answer = connection.getresponse()
    assert answer.status == 200
    assert len(json.loads(answer.read())["verdicts"]) == 4_000 * len(lines)
    connection.close()
    assert service.end() == (0, "", "")


def test_goes_on_where_nobody_reads_what_it_prints(model_file, rows):
    process = subprocess.Popen([*GDITD, str(model_file), "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    port = int(process.stdout.readline().rsplit(b":")[-1])
    process.stdout.close()
    process.stderr.close()
    try:
        for _ in range(2):  # the line in the log comes after the answer
            assert ask(port, rows[:1])[0] == 200
        process.terminate()
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()


def test_what_cannot_start_says_so_in_one_line(model_file, tmp_path):
    (tmp_path / "broken.gditd").write_bytes(b"broken")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for arguments, words in (
            ([model_file, "--port", port], f"port {port}"),
            ([tmp_path / "broken.gditd", "--port", 0], "broken.gditd"),
        ):
            done = subprocess.run(
                [*GDITD, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
            )
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr.startswith("error: ")
            assert words in done.stderr
            assert done.stderr.count("\n") == 1
