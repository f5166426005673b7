"""Connections with an end: what clients may hold by sending slowly, sending too much, or not reading.

uvicorn by itself waits for the rest of a request's head for ever, keeps as much of it as comes, and keeps an answer
until it is taken. Requests under way have a time limit of their own.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from gditd.serve.errors import Refusal
from gditd.serve.settings import Settings

HEAD_SECONDS = 10.0  # for a request's head, from the connection's start or the last answer on
MOST_HEAD = 65_536  # bytes
LINGER_SECONDS = 1.0
CONNECTIONS = 4  # for each request that may be under way: browsers open several and use one
FILES = 64  # that the service needs for itself


class Config(uvicorn.Config):
    """uvicorn's settings, and ours for its connections."""

    def __init__(self, app: Any, settings: Settings, **options: Any) -> None:
        super().__init__(app, http=Connection, ws="none", **options)
        self.head_seconds = min(HEAD_SECONDS, settings.timeout)
        self.answer_seconds = settings.timeout
        self.most_connections = most_connections(settings.max_waiting)


class Connection(HttpToolsProtocol):
    """One client's connection."""

    config: Config

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._over = False  # nothing more is taken: the last answer is on its way
        self._unread = 0  # bytes that came since a head or a part of a body was whole
        self._head_timer: asyncio.TimerHandle | None = None
        self._answer_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, unless there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.config.most_connections:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "the service has too many connections: try again in a moment")
            transport.close()
        else:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        stop(self._head_timer)
        stop(self._answer_timer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, unless it is a head without an end."""
        if self._over or self.transport.is_closing():
            return
        self._unread += len(data)
        super().data_received(data)
        if self._unread > MOST_HEAD and not self._over:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the request's head is too large")

    def on_headers_complete(self) -> None:
        """Let the request begin."""
        self._unread = 0
        stop(self._head_timer)
        super().on_headers_complete()
        self.cycle.transport = cast("asyncio.Transport", LastWords(self))

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Take the end of a request."""
        self._unread = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Expect the next request; what is left of the last one's body must have come by then, too."""
        if self._over:
            self.flow.resume_reading()
            return
        super().on_response_complete()
        if self.cycle.response_complete:
            self._expect_head()

    def pause_writing(self) -> None:
        """Hold the answer back, but not for ever."""
        super().pause_writing()
        stop(self._answer_timer)
        self._answer_timer = self.loop.call_later(self.config.answer_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: most of the answer is taken."""
        stop(self._answer_timer)
        super().resume_writing()
        if self._over or self.cycle is None or self.cycle.response_complete:
            self._expect_head()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, in the form of all our errors."""
        self._refuse(HTTPStatus.BAD_REQUEST, "this is no HTTP request")

    def _expect_head(self, seconds: float | None = None) -> None:
        stop(self._head_timer)
        seconds = self.config.head_seconds if seconds is None else seconds
        self._head_timer = self.loop.call_later(seconds, self._end_waiting)

    def _end_waiting(self) -> None:
        if self.flow.write_paused:
            return  # the last answer is still being taken, which has a time limit of its own
        if self._over or self.transport.get_write_buffer_size():
            self.transport.abort()  # closing would wait until the rest of the answer is taken
        elif self._unread and not self.transport.is_closing():
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "the request's head took too long")
        else:
            self.transport.close()

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        """Answer and hang up; without an answer where one is being sent."""
        self._unset_keepalive_if_required()
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.transport.abort()
                return
        headers = {"retry-after": "1"} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
        response = Refusal(status, message, headers=headers | {"connection": "close"}).response()
        lines = b"".join(name + b": " + value + b"\r\n" for name, value in response.raw_headers)
        self.transport.write(STATUS_LINE[status] + lines + b"\r\n" + bytes(response.body))
        self.hang_up(still_sending=True)

    def hang_up(self, *, still_sending: bool) -> None:
        """Close the connection; a moment later where the client still sends, or it would not see the answer."""
        if self._over:
            return
        self._over = True
        if still_sending:
            self.transport.write_eof()
            self._expect_head(LINGER_SECONDS)
        else:
            self.transport.close()
            self._expect_head()


class LastWords:
    """A connection's transport as an answer sees it, which closes it where it is the last one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._cycle = connection.cycle

    def write(self, data: bytes) -> None:
        """Send a part of the answer."""
        self._connection.transport.write(data)

    def is_closing(self) -> bool:
        """Whether nothing more can be sent."""
        return self._connection.transport.is_closing()

    def close(self) -> None:
        """Close the connection behind the answer."""
        self._connection.hang_up(still_sending=self._cycle.more_body)


def stop(timer: asyncio.TimerHandle | None) -> None:
    """Call a timer off."""
    if timer is not None:
        timer.cancel()


def most_connections(max_waiting: int) -> int:
    """How many connections to keep, as far as the system lets a process have files."""
    wanted = max(CONNECTIONS * max_waiting, FILES)
    try:
        import resource  # noqa: PLC0415 - only Unix has it
    except ImportError:
        return wanted
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if files == resource.RLIM_INFINITY else max(1, min(wanted, files - FILES))
