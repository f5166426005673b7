"""What happens around every request: its id, its key, its headers, its line in the log, its place in the figures."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gditd.serve.errors import Refusal, refusal_of
from gditd.serve.logs import RECORD, Log, Record, where
from gditd.serve.metrics import Metrics
from gditd.serve.security import API_HEADERS, COMMON_HEADERS, OPEN_FOLDER, PAGE_HEADERS, check_key, is_open, is_page

CLIENT_GONE = 499  # nobody is there to get an answer; the log and the figures still count it

_SANE_ID = re.compile(rb"[A-Za-z0-9._:-]{1,64}")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class FrontDoor:
    """An ASGI middleware: plain, because Starlette's own base class costs more than a verdict."""

    def __init__(
        self, app: ASGIApp, *, routes: frozenset[str], api_key: str | None, log: Log, metrics: Metrics
    ) -> None:
        self._app = app
        self._routes = routes
        self._api_key = None if api_key is None else api_key.encode()
        self._log, self._metrics = log, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, see it out."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        headers = dict(scope["headers"])  # of one that comes twice, the last
        record = Record(request_id(headers), known_method(scope["method"]), self._route(path), headers)
        scope[RECORD] = record
        added = [
            (b"x-request-id", record.id.encode()),
            *COMMON_HEADERS,
            *(PAGE_HEADERS if is_page(path) else API_HEADERS),
        ]

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        try:
            if self._api_key is not None and not is_open(path):
                check_key(self._api_key, headers)
            await self._app(scope, receive, send_with_headers)
        except ClientDisconnect:
            record.status = CLIENT_GONE
        except Exception as error:
            refusal = refusal_of(error)
            if refusal is None:
                record.error = where(error)
                refusal = Refusal(500, f"the service failed at this request: look for {record.id} in its log")
            if record.status == 0:
                await refusal.response()(scope, receive, send_with_headers)
        finally:
            record.ending.close()
            seconds = record.seconds()
            record.status = record.status or CLIENT_GONE
            self._metrics.request(record.method, record.route, record.status, seconds)
            self._log.request(record, seconds)

    def _route(self, path: str) -> str:
        """The path as the log and the figures have it: whatever people try must not make new figures."""
        if path in self._routes:
            return path
        return OPEN_FOLDER if path.startswith(OPEN_FOLDER) else "other"


def request_id(headers: Mapping[bytes, bytes]) -> str:
    """The id that came with a request, if it is fit for a log, or a new one."""
    given = headers.get(b"x-request-id", b"")
    return given.decode("ascii") if _SANE_ID.fullmatch(given) else secrets.token_hex(8)


def known_method(method: str) -> str:
    """The method, or one word for all that do not exist."""
    return method if method in _METHODS else "OTHER"
