"""Whatever is asked badly gets a status, a sentence and a place; never a traceback."""

import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.serve.conftest import CSV, JSON

PARQUET = {"content-type": "application/vnd.apache.parquet"}
STREAM = {"content-type": "application/vnd.apache.arrow.stream"}


def refused(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert error["message"]
    assert "Traceback" not in answer.text
    return error


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"{", 400, "no JSON"),
        (b"", 400, "no JSON"),
        (b"\xff\xfe", 400, "no JSON"),
        (b"[" * 100_000, 400, "no JSON"),
        (b"[]", 422, '{"rows"'),
        (b'{"rows": 5}', 422, '{"rows"'),
        (b'{"row": []}', 422, '{"rows"'),
        (b'{"rows": [{}, 7]}', 422, "row 2"),
        (b'{"rows": [{}]}', 422, "lacks columns"),
    ],
)
def test_bodies_that_are_no_rows(client, body, status, words):
    assert words in refused(client.post("/v1/predict", content=body, headers=JSON), status)["message"]


@pytest.mark.parametrize("many", [1, 60])
@pytest.mark.parametrize("path", ["/v1/predict", "/v1/explain"])
def test_a_field_beside_the_rows_is_named(client, rows, path, many):
    """An option there would be passed over, and the answer would look as if it had been followed."""
    body = {"rows": rows[:1] * many, "alpha": 0.9}
    message = refused(client.post(path, json=body), 422)["message"]
    assert message.startswith('the body has a field "alpha" beside "rows": leave it out')


def test_the_description_knows_of_no_field_beside_the_rows(client):
    routes = client.get("/openapi.json").json()["paths"]
    schema = routes["/v1/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert (list(schema["properties"]), schema["additionalProperties"]) == (["rows"], False)


@pytest.mark.parametrize("value", ["oops", [1], {"a": 1}, float("inf"), "1e999"])
@pytest.mark.parametrize("many", [2, 60])
def test_a_bad_value_is_named_by_column_and_row(client, rows, value, many):
    bad = [dict(row) for row in (rows * 3)[:many]]
    bad[1]["amount"] = value
    body = json.dumps({"rows": bad})
    error = refused(client.post("/v1/predict", content=body, headers=JSON), 422)
    assert (error["column"], error["row"]) == ("amount", 2)
    assert error["message"].startswith('column "amount", row 2: ')


def test_a_bad_value_far_down_a_csv(client, new_rows):
    head, *lines = new_rows.to_csv(index=False).splitlines()
    long = [head, *(lines * 900)[:10_000], "oops" + lines[0][lines[0].index(",") :]]
    error = refused(client.post("/v1/predict", content="\n".join(long), headers=CSV), 422)
    assert (error["column"], error["row"]) == ("amount", 10_001)


def test_ragged_csv(client):
    error = refused(client.post("/v1/predict", content="a,b\n1,2\n3\n", headers=CSV), 422)
    assert error["row"] == 2
    refused(client.post("/v1/predict", content="", headers=CSV), 422)
    refused(client.post("/v1/predict", content="a,a\n1,2\n", headers=CSV), 422)


@pytest.mark.parametrize("headers", [PARQUET, STREAM])
def test_damaged_binaries(client, headers):
    for body in (b"", b"PAR1", b"ARROW1\0\0", bytes(range(256)) * 10):
        refused(client.post("/v1/predict", content=body, headers=headers), 400)


def test_an_arrow_body_whose_offsets_lie(client, new_rows):
    """Arrow trusts offsets: without a full check, such a body would crash the process."""
    texts = pa.array(["north"] * len(new_rows))
    _, offsets, data = texts.buffers()
    wrong = np.frombuffer(offsets, np.int32).copy()
    wrong[5] = 1_000_000_000
    liar = pa.StringArray.from_buffers(len(texts), pa.py_buffer(wrong), data)
    table = pa.Table.from_pandas(new_rows, preserve_index=False)
    table = table.set_column(table.column_names.index("region"), "region", liar)
    file = io.BytesIO()
    with pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    refused(client.post("/v1/predict", content=file.getvalue(), headers=STREAM), 400)


def test_unknown_things(client, rows):
    body = {"rows": rows[:1]}
    refused(client.post("/v1/predict", content="<rows/>", headers={"content-type": "application/xml"}), 415)
    refused(client.post("/v1/predict", content=b"x", headers=CSV | {"content-encoding": "br"}), 415)
    refused(client.post("/v1/predict", json=body, headers={"accept": "image/png"}), 406)
    assert "parts" in refused(client.post("/v1/predict?model=other", json=body), 404)["message"]
    refused(client.get("/nothing"), 404)
    refused(client.get("/static/nothing.js"), 404)
    refused(client.get("/static/../app.py"), 404)
    refused(client.get("/static/%2e%2e/app.py"), 404)
    refused(client.get("/docs"), 404)
    refused(client.get("/v1/predict"), 405)


@pytest.mark.parametrize(
    "query",
    ["alpha=2", "alpha=x", "alpha=nan", "explain=0", "explain=many", "on_error=hide", "map=perhaps", "alhpa=0.1"],
)
def test_bad_options(client, rows, query):
    message = refused(client.post(f"/v1/predict?{query}", json={"rows": rows[:1]}), 422)["message"]
    assert query.split("=")[0] in message


def test_taken_column_names(client, new_rows):
    body = new_rows.assign(verdict="x").to_csv(index=False)
    error = refused(client.post("/v1/predict", content=body, headers=CSV | {"accept": "text/csv"}), 422)
    assert '"verdict"' in error["message"]


def test_explain_takes_a_hundred_rows(client, rows):
    refused(client.post("/v1/explain", json={"rows": (rows * 10)[:101]}), 413)
    error = refused(client.post("/v1/explain", json={"rows": [rows[0], rows[1] | {"amount": "oops"}]}), 422)
    assert (error["column"], error["row"]) == ("amount", 2)


def test_our_own_fault_tells_nothing(serving, rows, monkeypatch, capfd):
    client = serving()
    registry = client.app.state.service.registry
    monkeypatch.setattr(registry.get(None).scorer, "verdicts", lambda *_, **__: 1 / len([]))
    answer = client.post("/v1/predict", json={"rows": rows[:1]})
    error = refused(answer, 500)
    assert answer.headers["x-request-id"] in error["message"]
    line = json.loads(capfd.readouterr().err.splitlines()[-1])
    assert line["status"] == 500
    assert line["error"].startswith("ZeroDivisionError at ")


# --- limits ---


def blocks(*parts):
    """A body whose length is not announced."""
    yield from parts


def test_body_limit(serving, rows):
    client = serving(max_body=1_000)
    body = json.dumps({"rows": rows[:1]}).encode()
    padded = body + b" " * 1_000
    assert client.post("/v1/predict", content=body, headers=JSON).status_code == 200
    refused(client.post("/v1/predict", content=padded, headers=JSON), 413)
    refused(client.post("/v1/predict", content=blocks(*[padded[i : i + 100] for i in range(0, len(padded), 100)])), 413)
    packed = JSON | {"content-encoding": "gzip"}
    refused(client.post("/v1/predict", content=gzip.compress(padded), headers=packed), 413)
    refused(client.post("/v1/predict", content=gzip.compress(body)[:-9], headers=packed), 400)
    refused(client.post("/v1/predict", content=b"no gzip", headers=packed), 400)


def test_bombs(serving):
    """Small bodies that unpack to hundreds of megabytes."""
    client = serving(max_body=1_000_000, max_rows=10**9)
    packed = gzip.compress(bytes(300_000_000))
    assert len(packed) < 1_000_000
    refused(client.post("/v1/predict", content=packed, headers=CSV | {"content-encoding": "gzip"}), 413)
    zeros = pa.table({"a": np.zeros(10_000_000)})
    shared = pa.table({"a": pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int8)), ["x" * 100_000])})
    for table in (zeros, shared):
        file = io.BytesIO()
        with pa.ipc.new_stream(file, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(table)
        refused(client.post("/v1/predict", content=file.getvalue(), headers=STREAM), 413)
        file = io.BytesIO()
        pq.write_table(table, file, store_schema=False, use_dictionary=table is shared)
        refused(client.post("/v1/predict", content=file.getvalue(), headers=PARQUET), 413)


def test_row_limit(serving, rows, new_rows):
    client = serving(max_rows=5)
    assert client.post("/v1/predict", json={"rows": rows[:5]}).status_code == 200
    refused(client.post("/v1/predict", json={"rows": rows[:6]}), 413)
    refused(client.post("/v1/predict", content=new_rows.to_csv(index=False), headers=CSV), 413)
    file = io.BytesIO()
    new_rows.to_parquet(file)
    refused(client.post("/v1/predict", content=file.getvalue(), headers=PARQUET), 413)


def test_timeout(serving, new_rows):
    client = serving(timeout=0.000_001)
    refused(client.post("/v1/predict", content=new_rows.to_csv(index=False), headers=CSV), 504)


def test_too_many_at_once(serving, rows):
    client = serving(max_waiting=1)
    with client.app.state.service.admitted():
        answer = client.post("/v1/predict", json={"rows": rows[:1]})
        refused(answer, 503)
        assert answer.headers["retry-after"] == "1"
        assert client.get("/health").status_code == 200
    assert client.post("/v1/predict", json={"rows": rows[:1]}).status_code == 200
