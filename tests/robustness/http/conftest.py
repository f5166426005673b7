"""Hostile requests to a real `gditd serve`: a verdict or a refusal in a line of JSON, within time and memory.

The service runs in a process of its own, because what is sent here has crashed parsers: after every test it must
answer as before, and must have logged nothing that it did not expect.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.robustness.http.hostile import MAX_BODY, MAX_WAITING, MEMORY, PREDICT, TIMEOUT
from tests.robustness.http.requests import TYPES, good
from tests.robustness.served import Served, served


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    options = ("--timeout", TIMEOUT, "--max-body", MAX_BODY, "--max-waiting", MAX_WAITING)
    with served(tmp_path_factory.mktemp("http"), *options) as running:
        for kind in TYPES:
            assert running.ask("POST", PREDICT, good(kind), content_type=kind).status == 200
        yield running


@pytest.fixture(scope="session")
def usual_memory(server: Served) -> int:
    return server.memory()


@pytest.fixture(autouse=True)
def unharmed(server: Served, usual_memory: int) -> Iterator[None]:
    """Whatever was sent, the service is as well as before."""
    yield
    server.assert_unharmed()
    assert server.memory("VmHWM") - usual_memory < MEMORY
