"""Clients that do not speak as they should."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import run_apart
from tests.robustness.http.hostile import MAX_BODY, MAX_WAITING, PREDICT, SLACK, TIMEOUT
from tests.robustness.http.requests import CSV, JSON, TYPES, good
from tests.robustness.served import Served
from tests.robustness.torture import tries

pytestmark = pytest.mark.xdist_group("hostile http")  # one service for all of them


Wire = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Client = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def head(*lines: str, path: str = PREDICT) -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "host: x", *lines, "", ""]).encode("latin-1")


async def last_words(reader: asyncio.StreamReader) -> bytes:
    """All that the service still sends until it hangs up."""
    try:
        return await asyncio.wait_for(reader.read(-1), TIMEOUT + SLACK)
    except ConnectionError:
        return b""


def spoken(server: Served, *clients: Client) -> None:
    """Let clients talk to the service by themselves, all at once."""

    async def one(client: Client) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        try:
            await client(reader, writer)
        finally:
            writer.transport.abort()

    async def everyone() -> None:
        await asyncio.gather(*map(one, clients))

    run_apart(asyncio.wait_for(everyone(), 3 * (TIMEOUT + SLACK)))


def status_of(answer: bytes) -> int:
    """The status of an answer, whose body must be a line of JSON."""
    top, _, body = answer.partition(b"\r\n\r\n")
    assert json.loads(body)["error"]["message"]
    assert b"\n" not in body
    return int(top.split()[1])


def refused_with(status: int, *parts: bytes) -> Client:
    """A client that sends something and is answered so, and hung up on."""

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await asyncio.sleep(0.05)
        assert status_of(await last_words(reader)) == status, parts[0][:80]

    return client


NO_HTTP = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),  # TLS
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\0" * 100 + b"\r\n\r\n",
    b"GET\r\n\r\n",
    b"POST /v1/predict HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
    b"POST /v1/predict HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999999\r\n\r\n",
    b"POST /v1/predict HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabc",
    b"POST /v1/predict HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\nabc",
    b"POST /v1/predict HTTP/1.1\r\nhost: x\r\na\0b: c\r\n\r\n",
    b"POST /v1/predict HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    b"POST /v1/predict HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffffff\r\n",
]


def test_what_is_no_http(server: Served) -> None:
    spoken(server, *(refused_with(400, request) for request in NO_HTTP))


def test_heads_without_end(server: Served) -> None:
    """They were kept for as long as they came."""
    header = b"a: " + b"x" * 4_000 + b"\r\n"
    spoken(
        server,
        refused_with(431, head()[:-2], *[header * 10] * 10),
        refused_with(431, head()[:-2] + b"a: ", *[b"x" * 20_000] * 10),
        refused_with(431, b"GET /" + b"x" * 20_000, *[b"x" * 20_000] * 10),
        refused_with(431, head("transfer-encoding: chunked") + b"0\r\n", *[header * 10] * 10),
    )


def test_a_length_that_lies(server: Served) -> None:
    """What is left over is taken for the next request, which is none."""
    body = good(JSON)

    async def too_short(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head("content-type: application/json", f"content-length: {len(body) - 40}") + body)
        assert (await reader.readline()).split()[1] == b"400"

    async def too_large(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head("content-type: application/json", f"content-length: {10**12}") + body)
        assert (await reader.readline()).split()[1] == b"413"

    spoken(server, too_short, too_large)


def test_clients_that_take_their_time(server: Served) -> None:
    """Whoever sends half a request, or does not take the answer, is hung up on; others are answered meanwhile."""
    body = good(CSV, 20_000)
    started = time.monotonic()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await last_words(reader) == b""

    async def slow_head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ending = asyncio.ensure_future(last_words(reader))
        for byte in head("a: " + "x" * 500):
            if ending.done():
                break
            writer.write(bytes([byte]))
            await asyncio.sleep(0.05)
        assert status_of(await ending) == 408

    async def half_a_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head("content-type: text/csv", f"content-length: {len(body)}") + body[:1_000])
        assert status_of(await last_words(reader)) == 504

    async def drops(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Goes on sending after the refusal, too."""
        ending = asyncio.ensure_future(last_words(reader))
        writer.write(head("content-type: text/csv", "transfer-encoding: chunked"))
        while not ending.done():
            writer.write(b"1\r\na\r\n")
            await asyncio.sleep(0.1)
        assert status_of(await ending) == 504

    async def does_not_read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        request = head("content-type: text/csv", "accept: text/csv", f"content-length: {len(body)}") + body
        writer.write(request * 4)
        while not writer.is_closing():
            writer.write(b"x")  # which is how to notice
            await asyncio.sleep(0.2)

    async def others(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(10):
            asked = time.monotonic()
            request = head("content-type: application/json", f"content-length: {len(good(JSON, 1))}") + good(JSON, 1)
            writer.write(request)
            top = await reader.readuntil(b"\r\n\r\n")
            assert top.split()[1] == b"200"
            length = int(top.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            assert time.monotonic() - asked < TIMEOUT
            await asyncio.sleep(TIMEOUT / 20)

    clients = [silent, slow_head, half_a_body, drops, does_not_read]
    spoken(server, *(client for client in clients for _ in range(3)), others)
    assert time.monotonic() - started < 2 * TIMEOUT + SLACK


def test_more_bytes_than_the_service_holds(server: Served) -> None:
    """Ten bodies that wait for their last byte, each of them small enough: some are sent away, others answered."""
    body = b"a\n" + b"x" * (1_000_000 * MAX_BODY - 1_000) + b"\n"
    statuses: list[int] = []

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head("content-type: text/csv", f"content-length: {len(body)}", "connection: close") + body[:-1])
        await asyncio.sleep(0.5)
        writer.write(body[-1:])
        statuses.append(status_of(await last_words(reader)))

    spoken(server, *[client] * 10)
    assert {422, 503} <= set(statuses) <= {422, 503, 504}


@tries(12, 1_500)
@given(kind=st.sampled_from(TYPES), share=st.floats(0, 1), n_rows=st.sampled_from([1, 40, 2_000]))
def test_clients_that_hang_up(server: Served, kind: str, share: float, n_rows: int) -> None:
    """At any moment: in the head, in the body, or while they are being answered."""
    body = good(kind, n_rows)
    request = head(f"content-type: {kind}", f"content-length: {len(body)}") + body

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(request[: round(share * len(request))])
        await asyncio.sleep(0.002)

    spoken(server, client)


def test_large_tables_of_clients_that_are_gone(server: Served) -> None:
    """All of them were judged to the end, and whoever still waited had to wait for that."""
    body = good(CSV, 100_000)

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head("content-type: text/csv", f"content-length: {len(body)}") + body)
        await writer.drain()
        await asyncio.sleep(0.2)

    judged = float(figure(server, "gditd_rows_total"))
    spoken(server, *[client] * 5)
    deadline = time.monotonic() + 20
    while float(figure(server, "gditd_requests_under_way")) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert time.monotonic() < deadline
    assert float(figure(server, "gditd_rows_total")) == judged


def figure(server: Served, name: str) -> str:
    """One of the service's own figures."""
    lines = server.ask("GET", "/metrics").body.decode().splitlines()
    return next(line for line in lines if line.startswith(name)).rpartition(" ")[2]


def test_many_requests_in_a_row(server: Served) -> None:
    """Sent without waiting for answers; all are answered."""
    request = head("content-type: application/json", f"content-length: {len(good(JSON, 1))}") + good(JSON, 1)

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(request * 100 + head("content-length: 0", "connection: close"))
        assert (await reader.read(-1)).count(b"HTTP/1.1 200") == 100

    spoken(server, client)


def test_more_connections_than_the_service_keeps(server: Served) -> None:
    """The next one is told so at once, and there is room again as soon as the idle ones are hung up on."""

    async def crowd() -> None:
        idle = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(4 * MAX_WAITING)]
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        assert status_of(await last_words(reader)) == 503
        for one, other in idle:
            await last_words(one)
            other.close()
        writer.close()

    run_apart(asyncio.wait_for(crowd(), 60))
