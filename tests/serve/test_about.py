"""What the service says of itself: models, schema, health, figures, log, page; and whom it tells."""

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from starlette.testclient import TestClient

import gditd
from gditd import GDITDClassifier
from gditd.serve.app import PAGE, create_app
from gditd.serve.models import Registry
from gditd.serve.settings import Settings
from tests.serve.conftest import CSV

TAKE_ROWS = ("/v1/predict", "/v1/explain")


def test_schema(client, model_file):
    schema = client.get("/v1/schema").json()
    assert (schema["model"], schema["alpha"], schema["classes"]) == ("parts", 0.05, ["low", "middle", "top"])
    assert schema["promises"][0]["class"] == "low"
    columns = {column["name"]: column for column in schema["columns"]}
    assert {name: column["kind"] for name, column in columns.items()} == {
        "amount": "number",
        "items": "number",
        "region": "category",
        "member": "boolean",
        "day": "datetime",
        "gap": "number",
    }
    assert columns["items"]["integer"] is True
    assert columns["amount"]["minimum"] < columns["amount"]["mean"] < columns["amount"]["maximum"]
    assert sorted(columns["region"]["categories"]) == ["north", "south", "west"]
    assert [columns[name]["missing_allowed"] for name in ("gap", "amount")] == [True, False]
    assert columns["day"]["minimum"].startswith("2024-01-")
    assert gditd.load(model_file).verdict([schema["example"]])["verdict"].item() != "OOD"


def save(folder, table, labels):
    path = folder / "own.gditd"
    GDITDClassifier(preset="fast", max_epochs=20, random_state=0).fit(table, labels).save(path)
    return path


def example_and_verdict(client):
    """The example of the description, which all that takes rows must take."""
    paths = client.get("/openapi.json").json()["paths"]
    bodies = [paths[path]["post"]["requestBody"]["content"]["application/json"] for path in TAKE_ROWS]
    (body,) = {json.dumps(body["examples"]["own"]["value"]) for body in bodies}
    answers = [client.post(path, content=body) for path in TAKE_ROWS]
    assert [answer.status_code for answer in answers] == [200, 200]
    return json.loads(body)["rows"][0], answers[0].json()["verdicts"][0]["verdict"]


def test_the_example_has_values_such_as_its_columns_have(serving, tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.choice(["most", "few"], 300, p=[0.7, 0.3])
    sizes = np.where(labels == "most", 5.0, -5.0) + rng.normal(size=300)  # the mean lies where there is no row
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 300), unit="D")
    table = pd.DataFrame(
        {
            "size": sizes,
            "narrow": 123_441.0 + rng.normal(0.0, 0.1, 300),
            "code": rng.choice([1, 1000], 300),
            "day": days,
            "moment": days + pd.to_timedelta(rng.integers(1, 86_400, 300), unit="s"),
            "time": [f"{hour:02}:30" for hour in rng.integers(0, 24, 300)],
            "flag": rng.choice(["true", "false"], 300, p=[0.8, 0.2]),
            "region": np.where(labels == "most", "south", "north"),
            "long": rng.choice(["long " * 30, "longer " * 30], 300),
            "gap": np.where(labels == "most", np.nan, 1.0 + rng.random(300)),
            "always": 1,
        }
    )
    example, verdict = example_and_verdict(serving(save(tmp_path, table, labels)))
    assert verdict == "most"
    assert list(example) == list(table.columns)[:-1]
    assert example["size"] == pytest.approx(5.0, abs=0.5)
    assert example["narrow"] == pytest.approx(123_441.0, abs=0.1)
    assert example["code"] in (1, 1000)
    assert pd.Timestamp(example["day"]) in set(days)
    assert len(example["day"]) == len("2024-01-01")
    assert len(example["moment"]) == len("2024-01-01T12:00:00")
    assert re.fullmatch(r"\d\d:30:00", example["time"])
    assert (example["flag"], example["region"], example["gap"]) == (True, "south", None)
    assert example["long"] in set(table["long"])


def test_the_example_of_a_model_without_column_names_has_every_place(serving, tmp_path):
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 100)
    table = np.column_stack([rng.normal(size=200), np.full(200, 7.0), 9.0 * labels + rng.normal(size=200)])
    example, verdict = example_and_verdict(serving(save(tmp_path, table, labels)))
    assert (list(example), example["x1"], verdict) == (["x0", "x1", "x2"], "7", "0")


def test_openapi_has_examples_and_no_foreign_scripts(client):
    document = client.get("/openapi.json").json()
    content = document["paths"]["/v1/predict"]["post"]["requestBody"]["content"]
    assert set(content) == {
        "application/json",
        "text/csv",
        "application/vnd.apache.parquet",
        "application/vnd.apache.arrow.stream",
        "application/vnd.apache.arrow.file",
    }
    example = content["application/json"]["examples"]["parts"]["value"]
    assert client.post("/v1/predict", json=example).status_code == 200
    assert {"/v1/explain", "/v1/models", "/v1/schema", "/v1/map", "/health", "/metrics"} <= set(document["paths"])


def test_health(client, model_file):
    assert client.get("/health").json() == {"status": "ok", "models": ["parts"]}
    starting = TestClient(create_app(Settings((model_file,), quiet=True), load=False))
    assert starting.get("/health").status_code == 503
    assert starting.post("/v1/predict", json={"rows": []}).status_code == 503


def test_metrics(serving, new_rows):
    client = serving()
    client.post("/v1/predict", content=new_rows.to_csv(index=False), headers=CSV)
    client.get("/whatever/people/try")
    text = client.get("/metrics").text
    assert f'gditd_rows_total{{model="parts"}} {len(new_rows):.1f}' in text
    assert 'gditd_ood_rows_total{model="parts"}' in text
    assert 'gditd_requests_total{method="POST",route="/v1/predict",status="200"} 1.0' in text
    assert 'gditd_requests_total{method="GET",route="other",status="404"} 1.0' in text
    assert 'gditd_request_seconds_count{route="/v1/predict"} 1.0' in text
    assert "people" not in text


def test_one_line_a_request_without_rows_or_keys(serving, rows, capfd):
    client = serving(api_key="very-secret")
    key = {"authorization": "Bearer very-secret", "x-request-id": "abc-1"}
    told = rows[2] | {"amount": 123.25, "region": "atlantis"}
    client.post("/v1/predict?alpha=0.1", json={"rows": [told]}, headers=key)
    client.post("/v1/predict", json={"rows": [rows[2] | {"amount": "atlantis"}]}, headers=key)
    client.post("/v1/predict", content=b"{atlantis", headers={"x-api-key": "guessed-secret"})
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 3
    for secret in ("atlantis", "123.25", "secret"):
        assert all(secret not in line for line in lines)
    first = json.loads(lines[0])
    assert set(first) == {"time", "level", "id", "method", "route", "status", "rows", "milliseconds", "model"}
    told = [first[name] for name in ("id", "method", "route", "status", "rows", "model")]
    assert told == ["abc-1", "POST", "/v1/predict", 200, 1, "parts"]
    assert [json.loads(line)["status"] for line in lines] == [200, 422, 401]


def test_request_ids(client):
    assert client.get("/health", headers={"x-request-id": "a.b-c:1"}).headers["x-request-id"] == "a.b-c:1"
    for odd in ("", "x" * 65, 'a"b', "a b"):
        made = client.get("/health", headers={"x-request-id": odd}).headers["x-request-id"]
        assert len(made) == 16
        assert made != odd


def test_keys(serving, rows):
    client = serving(api_key="kéy")
    body = {"rows": rows[:1]}
    for path in ("/v1/models", "/v1/schema", "/v1/map", "/metrics", "/openapi.json"):
        answer = client.get(path)
        assert answer.status_code == 401
        assert answer.json()["error"]["message"].startswith("a key is needed")
        assert answer.headers["www-authenticate"] == "Bearer"
    key = "kéy".encode()
    right = [{b"authorization": b"Bearer " + key}, {b"authorization": b"bearer " + key}, {b"x-api-key": key}]
    wrong = [{b"authorization": b"Basic " + key}, {b"x-api-key": b"k"}, {b"x-api-key": b""}, {b"authorization": key}]
    assert [client.post("/v1/predict", json=body, headers=own).status_code for own in right] == [200] * 3
    assert [client.post("/v1/predict", json=body, headers=own).status_code for own in wrong] == [401] * 4
    assert client.get("/health").status_code == 200
    assert client.get("/").status_code != 401
    assert client.get("/static/nothing").status_code == 404


@pytest.mark.parametrize("path", ["/", "/static/page.css"])
def test_page(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-cache"
    again = client.get(path, headers={"if-none-match": answer.headers["etag"]})
    assert again.status_code in (200, 304)


def test_every_file_of_the_page_is_served(client):
    for file in PAGE.iterdir():
        assert client.get(f"/static/{file.name}").content == file.read_bytes()


def test_answers_stay_in_no_cache(client):
    assert client.get("/v1/schema").headers["cache-control"] == "no-store"


# --- several models ---


@pytest.fixture
def folder(model_file, tmp_path):
    for name in ("first", "second"):
        shutil.copy(model_file, tmp_path / f"{name}.gditd")
    return tmp_path


def test_several_models(serving, folder, rows):
    client = serving(folder)
    assert [model["name"] for model in client.get("/v1/models").json()["models"]] == ["first", "second"]
    body = {"rows": rows[:1]}
    assert client.post("/v1/predict?model=second", json=body).status_code == 200
    answer = client.post("/v1/predict", json=body)
    assert answer.status_code == 422
    assert "first, second" in answer.json()["error"]["message"]
    assert client.get("/v1/schema?model=second").json()["model"] == "second"


def test_names_must_differ(folder, model_file, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "first.gditd"
    shutil.copy(model_file, other)
    with pytest.raises(ValueError, match='would both be served as "first": rename'):
        Registry((folder, other)).load()
    with pytest.raises(ValueError, match=r"no \*\.gditd file"):
        Registry((tmp_path_factory.mktemp("empty"),)).load()


def test_reload(folder, model_file):
    registry = Registry((folder,))
    registry.load()
    before = registry.get("first")
    (folder / "first.gditd").write_bytes(b"broken")
    (folder / "second.gditd").unlink()
    shutil.copy(model_file, folder / "third.gditd")
    outcome = registry.reload()
    assert outcome.served == registry.names == ["first", "third"]
    assert list(outcome.failures) == ["first"]
    assert registry.get("first") is before
    shutil.copy(model_file, folder / "first.gditd")
    assert registry.reload().failures == {}
    assert registry.get("first") is not before
    for file in folder.iterdir():
        file.unlink()
    assert "no *.gditd file" in registry.reload().failures[""]
    assert registry.names == ["first", "third"]
