"""Every case that ever broke."""

from __future__ import annotations

import json
import struct
import time

import pytest

from tests.robustness.http.hostile import PREDICT, SLACK, TIMEOUT, sent
from tests.robustness.http.requests import CSV, JSON, PARQUET, STREAM, good, json_body, many_gzip_files, parquet_bombs
from tests.robustness.served import Served
from tests.robustness.torture import TORTURE

pytestmark = pytest.mark.xdist_group("hostile http")  # one service for all of them


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
