"""A served model of a small mixed table, and the rows to ask it about."""

from __future__ import annotations

import json

import pytest
from starlette.testclient import TestClient

from gditd import GDITDClassifier
from gditd.serve.app import create_app
from gditd.serve.settings import Settings
from tests.raw_tables import mixed_table

JSON = {"content-type": "application/json"}
CSV = {"content-type": "text/csv"}


def json_rows(frame):
    """The rows of a frame as JSON has them: dates as text, None for what is missing."""
    return json.loads(frame.to_json(orient="records", date_format="iso"))


@pytest.fixture(scope="session")
def model_file(tmp_path_factory):
    train, labels = mixed_table((70, 80, 110))
    model = GDITDClassifier(preset="fast", max_epochs=20, random_state=0).fit(train, labels)
    path = tmp_path_factory.mktemp("serve") / "parts.gditd"
    model.save(path)
    return path


@pytest.fixture(scope="session")
def new_rows():
    """Rows of known kinds, and two that are not."""
    frame = mixed_table((6, 7, 8), seed=1)[0]
    frame.loc[[0, 1], "amount"] = 900.0
    return frame


@pytest.fixture(scope="session")
def rows(new_rows):
    return json_rows(new_rows)


@pytest.fixture(scope="module")
def client(model_file):
    with TestClient(create_app(Settings((model_file,)))) as client:
        yield client


@pytest.fixture
def serving(model_file):
    """Start a service with other settings."""
    started = []

    def start(*models, **settings):
        client = TestClient(create_app(Settings(models or (model_file,), **settings)))
        client.__enter__()
        started.append(client)
        return client

    yield start
    for client in started:
        client.__exit__(None, None, None)
