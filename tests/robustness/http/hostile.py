"""What a service under attack is allowed, and how it is asked."""

from __future__ import annotations

import time

from tests.robustness.served import MIB, Answer, Served, assert_designed

TIMEOUT = 2.0  # seconds that a request may take; so long the tests of slow clients last
SLACK = 8.0  # seconds: other work on the machine
MAX_BODY = 8  # MB
MAX_WAITING = 16  # requests; and four times as many connections
MEMORY = 500 * MIB  # that hostile requests may make the service take, where their bodies unpack to gigabytes
PREDICT = "/v1/predict"


def sent(server: Served, body: bytes, kind: str, path: str = PREDICT, **headers: str) -> Answer:
    """What comes of a body."""
    started = time.monotonic()
    answer = assert_designed(server.ask("POST", path, body, content_type=kind, **headers))
    assert time.monotonic() - started < TIMEOUT + SLACK
    return answer
