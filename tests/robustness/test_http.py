"""Hostile requests to a real `gditd serve`: a verdict or a refusal in a line of JSON, within time and memory.

The service runs in a process of its own, because what is sent here has crashed parsers: after every test it must
answer as before, and must have logged nothing that it did not expect.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import struct
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest
import schemathesis
from hypothesis import given
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from tests.loops import run_apart
from tests.robustness.http_bodies import (
    CSV,
    FILE,
    JSON,
    PARQUET,
    STREAM,
    TYPES,
    arrow_bombs,
    csv_bombs,
    damaged,
    good,
    gzip_bomb,
    json_body,
    json_bombs,
    many_gzip_files,
    parquet_bombs,
)
from tests.robustness.served import MIB, Answer, Served, assert_designed, served
from tests.robustness.torture import TORTURE, tries

pytestmark = pytest.mark.xdist_group("hostile http")

TIMEOUT = 2.0  # seconds that a request may take; so long the tests of slow clients last
SLACK = 8.0  # seconds: other work on the machine
MAX_BODY = 8  # MB
MAX_WAITING = 16  # requests; and four times as many connections
MEMORY = 500 * MIB  # that hostile requests may make the service take, where their bodies unpack to gigabytes
PREDICT = "/v1/predict"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    options = ("--timeout", TIMEOUT, "--max-body", MAX_BODY, "--max-waiting", MAX_WAITING)
    with served(tmp_path_factory.mktemp("http"), *options) as running:
        for kind in TYPES:
            assert running.ask("POST", PREDICT, good(kind), content_type=kind).status == 200
        yield running


@pytest.fixture(scope="module")
def usual_memory(server: Served) -> int:
    return server.memory()


@pytest.fixture(autouse=True)
def unharmed(server: Served, usual_memory: int) -> Iterator[None]:
    """Whatever was sent, the service is as well as before."""
    yield
    server.assert_unharmed()
    assert server.memory("VmHWM") - usual_memory < MEMORY


def sent(server: Served, body: bytes, kind: str, path: str = PREDICT, **headers: str) -> Answer:
    """What comes of a body."""
    started = time.monotonic()
    answer = assert_designed(server.ask("POST", path, body, content_type=kind, **headers))
    assert time.monotonic() - started < TIMEOUT + SLACK
    return answer


# --- what the API says of itself ---


@pytest.fixture(scope="module")
def described(server: Served) -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_url(f"http://127.0.0.1:{server.port}/openapi.json")


CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]


WITH_OPTIONS = [("POST", PREDICT), ("POST", "/v1/explain"), ("GET", "/v1/schema"), ("GET", "/v1/map")]
OPERATIONS = [*WITH_OPTIONS, ("GET", "/v1/models"), ("GET", "/health"), ("GET", "/metrics")]
RIGHT, WRONG = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE


def test_all_that_is_described_is_tried(described: schemathesis.BaseSchema) -> None:
    assert {(found.ok().method.upper(), found.ok().path) for found in described.get_all_operations()} == set(OPERATIONS)


@tries(6, 1_000)
@given(data=st.data())
@pytest.mark.parametrize(
    ("method", "path", "mode"),
    [*((*operation, RIGHT) for operation in OPERATIONS), *((*operation, WRONG) for operation in WITH_OPTIONS)],
)
def test_requests_made_up_from_the_description(
    described: schemathesis.BaseSchema,
    method: str,
    path: str,
    mode: schemathesis.GenerationMode,
    data: st.DataObject,
) -> None:
    """Right and wrong ones; which rows are right, the description cannot tell: that is the model's to say."""
    case = data.draw(described[path][method].as_strategy(generation_mode=mode))
    case.call_and_validate(checks=CHECKS, timeout=60)


# --- bodies ---


@tries(10, 3_000)
@given(data=st.data())
@pytest.mark.parametrize("kind", TYPES)
def test_damaged_bodies(server: Served, kind: str, data: st.DataObject) -> None:
    accept = data.draw(st.sampled_from(TYPES))
    query = data.draw(st.sampled_from(["", "?on_error=ood", "?explain=2&map=true&on_error=ood"]))
    sent(server, data.draw(damaged(kind)), kind, PREDICT + query, accept=accept)


@tries(15, 2_000)
@given(content=st.binary(max_size=300), kind=st.sampled_from(TYPES), path=st.sampled_from([PREDICT, "/v1/explain"]))
def test_any_bytes(server: Served, content: bytes, kind: str, path: str) -> None:
    sent(server, content, kind, path)


@tries(15, 1_000)
@given(content=st.binary(max_size=60), cut=st.integers(0, 200), flip=st.integers(0, 10_000))
def test_damaged_gzip(server: Served, content: bytes, cut: int, flip: int) -> None:
    packed = bytearray(gzip.compress(good(CSV), mtime=0) + content)
    packed[flip % len(packed)] ^= 1 << (flip % 8)
    sent(server, bytes(packed[: len(packed) - cut]), CSV, content_encoding="gzip")


@pytest.mark.parametrize("said", TYPES)
@pytest.mark.parametrize("is_one", TYPES)
def test_every_format_under_the_name_of_every_other(server: Served, said: str, is_one: str) -> None:
    answer = sent(server, good(is_one), said)
    # An Arrow file is taken for a stream and the other way round; nothing else is mistaken for another.
    assert (answer.status == 200) == (said == is_one or {said, is_one} == {STREAM, FILE})


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from([10**400, -(10**30), 1e308, "\0", "1e999", "2024-02-30", "x" * 3_000]),
)
NAMES = st.sampled_from(["amount", "items", "region", "member", "day", "gap"])


@tries(20, 4_000)
@given(
    rows=st.lists(st.dictionaries(NAMES | st.text(max_size=4), CELLS, max_size=8), max_size=40),
    path=st.sampled_from([PREDICT, f"{PREDICT}?on_error=ood&explain=3", "/v1/explain"]),
)
def test_any_rows(server: Served, rows: list[dict[str, object]], path: str) -> None:
    sent(server, json_body(rows), JSON, path)


@pytest.mark.parametrize(
    ("kind", "bombs"),
    [(PARQUET, parquet_bombs), (STREAM, arrow_bombs), (JSON, json_bombs), (CSV, csv_bombs)],
    ids=["parquet", "arrow", "json", "csv"],
)
def test_bodies_that_unpack_to_any_size(server: Served, kind: str, bombs: Callable[[], dict[str, bytes]]) -> None:
    for name, body in bombs().items():
        assert len(body) < 1_000_000 * MAX_BODY
        started = time.monotonic()
        answer = sent(server, body, kind)
        assert answer.status in (413, 422), (name, answer)
        assert time.monotonic() - started < SLACK, name


@pytest.mark.parametrize("kind", TYPES)
def test_gzip_that_unpacks_to_any_size(server: Served, kind: str) -> None:
    assert sent(server, gzip_bomb(100_000_000), kind, content_encoding="gzip").status == 413


def test_unknown_encodings(server: Served) -> None:
    for encoding in ("br", "deflate", "gzip, gzip", "zstd", "identity, gzip", "\xff"):
        assert sent(server, good(JSON), JSON, content_encoding=encoding).status == 415


# --- every case that ever broke ---


class TestWhatBroke:
    def test_fifty_thousand_columns(self, server: Served) -> None:
        """Looking for names that occur twice went on for minutes, long after the request was given up."""
        names = [f"c{place}" for place in range(50_000)]
        started = time.monotonic()
        assert sent(server, ",".join(names).encode() + b"\n", CSV).status == 413
        assert sent(server, json_body([dict.fromkeys(names, 1)]), JSON).status == 413
        assert time.monotonic() - started < SLACK

    def test_columns_of_one_row_each(self, server: Served) -> None:
        """Every row had a cell for every column of every other."""
        rows = [{f"{row} {place}": 1 for place in range(20)} for row in range(50)]
        assert sent(server, json_body(rows), JSON).status == 422
        assert sent(server, json_body(rows * 100), JSON).status == 413

    def test_a_row_of_a_billion_values(self, server: Served) -> None:
        """589 bytes of Parquet held lists, and took half a gigabyte and eleven seconds."""
        answer = sent(server, parquet_bombs()["one row, many values"], PARQUET)
        assert (answer.status, json.loads(answer.body)["error"]["column"]) == (422, "a")

    def test_two_hundred_columns_of_one_value(self, server: Served) -> None:
        """The footer told the truth about the pages: a few bytes. The columns took a gigabyte."""
        assert sent(server, parquet_bombs()["many columns of one value"], PARQUET).status == 413

    def test_a_hundred_thousand_gzip_files(self, server: Served) -> None:
        """Each costs the same, though there is nothing in it: the event loop was busy for half a minute."""
        started = time.monotonic()
        assert sent(server, many_gzip_files(100_000), CSV, content_encoding="gzip").status == 413
        assert time.monotonic() - started < TIMEOUT

    def test_long_names_are_not_sent_back(self, server: Served) -> None:
        """A refusal quoted a name of megabytes."""
        assert sent(server, b"x" * 400_000 + b"," + b"x" * 400_000 + b"\n1,2\n", CSV).status == 422
        assert sent(server, json_body([{"x" * 2_000_000: [1]}]), JSON).status == 422

    def test_rows_without_any_column(self, server: Served) -> None:
        """Arrow counts the rows of a table without columns as it likes."""
        for path in (PREDICT, f"{PREDICT}?on_error=ood", f"{PREDICT}?on_error=ood&explain=3", "/v1/explain"):
            assert "lacks columns" in sent(server, json_body([{}, {}]), JSON, path).message

    def test_options_without_a_value(self, server: Served) -> None:
        """They were passed over, and with them whatever was meant."""
        for option in ("alpha=", "explain=", "on_error=", "map="):
            assert sent(server, good(JSON), JSON, f"{PREDICT}?{option}").status == 422

    def test_rows_without_any_column_that_the_model_knows(self, server: Served) -> None:
        """Reasons and places were asked of a table without columns, and so without rows."""
        for options in ("", "&explain=3", "&map=true", "&explain=3&map=true"):
            answer = sent(server, json_body([{"other": 1}] * 2), JSON, f"{PREDICT}?on_error=ood{options}")
            assert [row["verdict"] for row in json.loads(answer.body)["verdicts"]] == ["OOD", "OOD"]
        assert sent(server, json_body([{"other": 1}]), JSON, "/v1/explain").status == 422

    def test_names_that_are_no_text(self, server: Served) -> None:
        """Arrow takes any bytes for a column's name, and the error about them was a 500."""
        for kind in (PARQUET, STREAM):
            body = good(kind).replace(b"amount", b"am\xff\xfent")
            assert sent(server, body, kind).status in (400, 422)

    def test_a_parquet_column_that_contradicts_itself(self, server: Served) -> None:
        """Where pyarrow is asked for the description of such a column, it ends the process."""
        body = good(PARQUET, 40)
        (size,) = struct.unpack("<I", body[-8:-4])
        for place in range(len(body) - 8 - size, len(body) - 8, 1 if TORTURE else 17):
            sent(server, body[:place] + bytes([body[place] ^ 1]) + body[place + 1 :], PARQUET)

    def test_buffers_that_are_not_there(self, server: Served) -> None:
        """Counting them before Arrow does raised what nobody had expected."""
        body = good(STREAM)
        for place in range(8, 600, 4):
            sent(server, body[:place] + b"\xff\xff\xff\x7f" + body[place + 4 :], STREAM)


# --- connections ---


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
