"""One JSON object a line on stderr: enough to find a request again, nothing of what was in it."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

RECORD = "gditd.record"  # where a request's record is in its ASGI scope


@dataclass
class Record:
    """What is known about a request; handlers fill in model and rows. Its headers are for them, not for the log."""

    id: str
    method: str
    route: str
    headers: Mapping[bytes, bytes]
    status: int = 0
    rows: int | None = None
    model: str | None = None
    error: str | None = None
    started: float = field(default_factory=perf_counter)
    ending: ExitStack = field(default_factory=ExitStack)
    """What is to be given back when the answer is sent, or nobody is there to take it."""

    def header(self, name: bytes) -> str | None:
        """A header's value as text."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    def seconds(self) -> float:
        """How long it has taken so far."""
        return perf_counter() - self.started


class Log:
    """Writes lines to stderr; a quiet log only those about errors."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet

    def request(self, record: Record, seconds: float) -> None:
        """One line a request."""
        if self.quiet and record.status < 500:
            return
        self._write(
            "info" if record.status < 500 else "error",
            id=record.id,
            method=record.method,
            route=record.route,
            status=record.status,
            rows=record.rows,
            milliseconds=round(1000 * seconds, 3),
            model=record.model,
            **({} if record.error is None else {"error": record.error}),
        )

    def event(self, message: str, **fields: Any) -> None:
        """Something that is not a request, such as a reload."""
        if not self.quiet:
            self._write("info", message=message, **fields)

    def failure(self, message: str, **fields: Any) -> None:
        """Something that somebody should look at."""
        self._write("error", message=message, **fields)

    def _write(self, level: str, **fields: Any) -> None:
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": level, **fields}
        with suppress(BrokenPipeError):  # a service whose log nobody reads any more goes on serving
            print(json.dumps(line, ensure_ascii=False), file=sys.stderr, flush=True)


class ServerMessages(logging.Handler):
    """Hands what the HTTP server itself logs to our log, so that every line is JSON."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write the message's first line; of an exception its place, because its text may quote a row."""
        place = {} if record.exc_info is None or record.exc_info[1] is None else {"error": where(record.exc_info[1])}
        self._log.failure(record.getMessage().partition("\n")[0], **place)


def where(error: BaseException) -> str:
    """An exception's type and the places it came through, without its text."""
    frames = traceback.extract_tb(error.__traceback__)[-5:]
    path = " > ".join(f"{frame.filename.rsplit('/', 2)[-1]}:{frame.lineno} {frame.name}" for frame in frames)
    return f"{type(error).__name__} at {path}"
