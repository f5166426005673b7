"""Verdicts over HTTP are those of the classifier, in every format."""

import gzip
import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gditd
from tests.serve.conftest import CSV, JSON

PARQUET = "application/vnd.apache.parquet"
STREAM = "application/vnd.apache.arrow.stream"
FILE = "application/vnd.apache.arrow.file"
ADDED = ["verdict", "known_class", "p_value", "ood_score"]


@pytest.fixture(scope="module")
def expected(model_file, new_rows):
    return gditd.load(model_file).verdict(new_rows)


def same(verdicts, expected):
    found = pd.DataFrame(verdicts)
    assert found["verdict"].tolist() == expected["verdict"].astype(str).tolist()
    assert found["known_class"].tolist() == expected["known_class"].astype(str).tolist()
    np.testing.assert_allclose(found["p_value"], expected["p_value"], rtol=1e-6)
    np.testing.assert_allclose(found["ood_score"], expected["ood_score"], rtol=1e-5)


def as_parquet(frame):
    file = io.BytesIO()
    frame.to_parquet(file)
    return file.getvalue()


def as_arrow(frame, opener):
    table, file = pa.Table.from_pandas(frame, preserve_index=False), io.BytesIO()
    with opener(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


def test_json(client, rows, expected):
    answer = client.post("/v1/predict", json={"rows": rows})
    assert answer.status_code == 200
    assert list(answer.json()) == ["verdicts"]
    assert list(answer.json()["verdicts"][0]) == ADDED
    same(answer.json()["verdicts"], expected)


def test_many_json_rows(client, rows, expected):
    """More rows than are joined with others take the way of tables, and come out the same."""
    answer = client.post("/v1/predict", json={"rows": rows * 10})
    same(answer.json()["verdicts"], pd.concat([expected] * 10))


@pytest.mark.parametrize(
    ("kind", "encode"),
    [
        ("text/csv; charset=utf-8", lambda frame: frame.to_csv(index=False).encode()),
        (PARQUET, as_parquet),
        ("application/parquet", as_parquet),
        ("application/x-parquet", as_parquet),
        (STREAM, lambda frame: as_arrow(frame, pa.ipc.new_stream)),
        (FILE, lambda frame: as_arrow(frame, pa.ipc.new_file)),
    ],
)
def test_bodies(client, new_rows, expected, kind, encode):
    answer = client.post("/v1/predict", content=encode(new_rows), headers={"content-type": kind})
    assert answer.status_code == 200, answer.text
    same(answer.json()["verdicts"], expected)


def test_gzip(client, new_rows, rows, expected):
    body = new_rows.to_csv(index=False).encode()
    packed = gzip.compress(body[:100]) + gzip.compress(body[100:])  # two members make one file
    answer = client.post("/v1/predict", content=packed, headers=CSV | {"content-encoding": "gzip"})
    same(answer.json()["verdicts"], expected)
    packed = gzip.compress(json.dumps({"rows": rows}).encode())
    answer = client.post("/v1/predict", content=packed, headers=JSON | {"content-encoding": "gzip"})
    same(answer.json()["verdicts"], expected)


@pytest.mark.parametrize("accept", ["text/csv", PARQUET, STREAM, FILE, "text/html, text/csv;q=0.9, */*;q=0.1"])
def test_answers(client, new_rows, expected, accept):
    body = new_rows.assign(remark='said "no", left').to_csv(index=False)
    answer = client.post("/v1/predict", content=body, headers=CSV | {"accept": accept})
    kind = answer.headers["content-type"]
    assert kind.split(";")[0] in accept
    read = {
        "text/csv": lambda: pd.read_csv(io.BytesIO(answer.content)),
        PARQUET: lambda: pq.read_table(io.BytesIO(answer.content)).to_pandas(),
        STREAM: lambda: pa.ipc.open_stream(answer.content).read_all().to_pandas(),
        FILE: lambda: pa.ipc.open_file(answer.content).read_all().to_pandas(),
    }
    found = read[kind.split(";")[0]]()
    assert list(found.columns) == [*new_rows.columns, "remark", *ADDED]
    assert found["remark"].tolist() == ['said "no", left'] * len(new_rows)
    assert found["amount"].tolist() == pytest.approx(new_rows["amount"].tolist())
    same(found[ADDED], expected)


def test_csv_is_what_predict_writes(client, model_file, new_rows, tmp_path):
    from gditd.cli.tasks.predict import predict

    new_rows.to_csv(tmp_path / "new.csv", index=False)
    predict(
        model_file,
        tmp_path / "new.csv",
        out=tmp_path / "out.csv",
        alpha=0.2,
        n_reasons=2,
        on_error="ood",
        quiet=True,
    )
    answer = client.post(
        "/v1/predict?alpha=0.2&explain=2&on_error=ood",
        content=(tmp_path / "new.csv").read_bytes(),
        headers=CSV | {"accept": "text/csv"},
    )
    assert answer.content == (tmp_path / "out.csv").read_bytes()


def test_alpha(client, model_file, rows, new_rows):
    answer = client.post("/v1/predict?alpha=0.5", json={"rows": rows})
    same(answer.json()["verdicts"], gditd.load(model_file).verdict(new_rows, alpha=0.5))


def test_reasons(client, rows):
    verdicts = client.post("/v1/predict?explain=2", json={"rows": rows}).json()["verdicts"]
    for verdict in verdicts:
        assert len(verdict["reason"]) == (2 if verdict["verdict"] == "OOD" else 0)
    assert "amount = 900" in verdicts[0]["reason"][0]


def test_map(client, rows):
    circles = {circle["label"]: circle for circle in client.get("/v1/map").json()["circles"]}
    assert sorted(circles) == ["low", "middle", "top"]
    for verdict in client.post("/v1/predict?map=true", json={"rows": rows}).json()["verdicts"]:
        if verdict["verdict"] == "OOD":
            continue
        circle = circles[verdict["verdict"]]
        assert np.hypot(verdict["x"] - circle["x"], verdict["y"] - circle["y"]) <= circle["radius"]


def test_on_error(client, rows):
    wrong = [rows[3], rows[4] | {"amount": "oops"}]
    for path in ("/v1/predict?on_error=ood", "/v1/predict?on_error=ood&map=true&explain=1"):
        first, second = client.post(path, json={"rows": wrong}).json()["verdicts"]
        assert first["error"] is None
        assert (second["verdict"], second["error"]) == ("OOD", 'column "amount", row 2: "oops" is not a number')


def test_no_rows(client, new_rows):
    assert client.post("/v1/predict", json={"rows": []}).json() == {"verdicts": []}
    head = ",".join(new_rows.columns) + "\n"
    assert client.post("/v1/predict", content=head, headers=CSV).json() == {"verdicts": []}


def test_unknown_columns_are_remarked_upon(client, rows):
    for many in (1, 50):
        answer = client.post("/v1/predict", json={"rows": [rows[0] | {"amuont": 1}] * many})
        assert answer.json()["notes"] == ['ignored 1 column not seen in training: "amuont"']
        late = [*[rows[0]] * many, rows[0] | {"amuont": 1}]
        answer = client.post("/v1/predict", json={"rows": late})
        assert answer.json()["notes"] == ['ignored 1 column not seen in training: "amuont"']


def test_explain(client, rows, model_file, new_rows):
    answer = client.post("/v1/explain", json={"rows": rows[:3]})
    explanations = answer.json()["explanations"]
    assert len(explanations) == 3
    known = gditd.load(model_file).explain(new_rows[:3])
    assert [e["columns"][0]["column"] for e in explanations] == [e.columns[0].column for e in known]
    first = explanations[0]
    assert first["verdict"] == "OOD"
    assert set(first["columns"][0]) == {"column", "value", "usual", "share"}
    assert (first["columns"][0]["column"], first["columns"][0]["value"]) == ("amount", 900.0)
    assert first["text"].startswith("nearest known class")
    two = client.post("/v1/explain?columns=2", json={"rows": rows[:1]}).json()["explanations"]
    assert len(two[0]["columns"]) == 2
