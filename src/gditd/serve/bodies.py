"""A request's body: read within limits, decompressed within limits."""

from __future__ import annotations

import zlib
from http import HTTPStatus

from starlette.requests import Request

from gditd.serve.budget import Share
from gditd.serve.errors import Refusal
from gditd.serve.logs import RECORD, Record
from gditd.serve.settings import MEGABYTE

_GZIP = 16 + zlib.MAX_WBITS  # tells zlib to expect a gzip header
LONGEST_LENGTH = 18  # digits; Python refuses to read numbers of thousands of them
MOST_MEMBERS = 10_000  # of gzip in a body: each costs the same however little is in it


async def read_body(request: Request, most: int, share: Share) -> bytes:
    """The body, decompressed; no more than `most` bytes of it are ever held, however it is sent."""
    record: Record = request.scope[RECORD]
    encoding = (record.header(b"content-encoding") or "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise Refusal(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f'content-encoding "{encoding[:100]}" is not known: use gzip or none'
        )
    announced = record.header(b"content-length") or ""
    if announced.isdecimal() and (len(announced) > LONGEST_LENGTH or int(announced) > most):
        raise too_large(most)
    unpacker = Unpacker(most) if encoding == "gzip" else None
    parts: list[bytes] = []
    size = 0
    async for block in request.stream():
        part = block if unpacker is None else unpacker.unpack(block)
        size += len(part)
        if size > most:
            raise too_large(most)
        share.take(len(part))
        parts.append(part)
    if unpacker is not None:
        unpacker.finish()
    return parts[0] if len(parts) == 1 else b"".join(parts)


class Unpacker:
    """Unpacks gzip block by block, and stops as soon as there is too much of it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._members = 1
        self._member = zlib.decompressobj(_GZIP)

    def unpack(self, block: bytes) -> bytes:
        """What the next block unpacks to; a file may hold several gzip members, one after another."""
        parts: list[bytes] = []
        while block:
            if self._member.eof:
                self._next_member()
            try:
                part = self._member.decompress(block, self._most - self._size + 1)
            except zlib.error:
                raise Refusal(HTTPStatus.BAD_REQUEST, "the body is not whole gzip: compress it again") from None
            self._size += len(part)
            if self._size > self._most:
                raise too_large(self._most)
            parts.append(part)
            block = self._member.unused_data
        return b"".join(parts)

    def _next_member(self) -> None:
        self._members += 1
        if self._members > MOST_MEMBERS:
            raise Refusal(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"the body is more than {MOST_MEMBERS:,} gzip files in a row: compress it as one",
            )
        self._member = zlib.decompressobj(_GZIP)

    def finish(self) -> None:
        """Refuse a body that was cut short."""
        if not self._member.eof:
            raise Refusal(HTTPStatus.BAD_REQUEST, "the body is not whole gzip: compress it again")


def too_large(most: int) -> Refusal:
    """The answer to a body over the limit."""
    return Refusal(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"the body is larger than {most / MEGABYTE:g} MB, the most this service takes: send it in pieces",
    )
