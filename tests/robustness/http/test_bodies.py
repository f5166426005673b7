"""Bodies of every kind, damaged and enormous ones."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.robustness.http.hostile import MAX_BODY, PREDICT, SLACK, sent
from tests.robustness.http.requests import (
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
    parquet_bombs,
)
from tests.robustness.served import Served
from tests.robustness.torture import tries

pytestmark = pytest.mark.xdist_group("hostile http")  # one service for all of them


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
