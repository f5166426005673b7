"""Requests that are scored together get what they would get alone, and nobody pays for another's mistake."""

import asyncio

import httpx
import pytest

from gditd.serve.app import create_app
from gditd.serve.batching import passes
from gditd.serve.joining import shape_of
from gditd.serve.settings import Settings
from tests.loops import run_apart

KINDS = {"amount": "number", "region": "category", "member": "boolean"}


@pytest.fixture
def ask(model_file):
    """Send requests at the same time; their answers, and how many passes it took."""

    async def together(paths_and_rows):
        app = create_app(Settings((model_file,), quiet=True), load=False)
        service = app.state.service
        service.registry.load()
        joined = []
        service.metrics.joined = joined.append
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            asked = [client.post(path, json={"rows": rows}) for path, rows in paths_and_rows]
            return await asyncio.gather(*asked), joined

    return lambda requests: run_apart(together(requests))


def test_joined_verdicts_are_those_of_each_alone(ask, rows):
    requests = [("/v1/predict", [row]) for row in rows]
    together, joined = ask(requests)
    assert max(joined) > 1
    assert sum(joined) == len(rows)
    alone = [ask([request])[0][0].json() for request in requests]
    assert [answer.json() for answer in together] == alone


def test_a_bad_row_fails_its_own_request_only(ask, rows):
    bad = rows[5] | {"day": "someday"}
    answers, joined = ask([("/v1/predict", [row]) for row in [*rows[:5], bad, *rows[6:10]]])
    assert max(joined) > 1
    assert [answer.status_code for answer in answers] == [200] * 5 + [422] + [200] * 4
    assert answers[5].json()["error"] == {
        "message": 'column "day", row 1: "someday" is not an ISO date or time',
        "column": "day",
        "row": 1,
    }


def test_unreadable_rows_count_from_their_own_request(ask, rows):
    bad = rows[5] | {"day": "someday"}
    answers, _ = ask([("/v1/predict?on_error=ood", [row]) for row in [rows[4], bad, rows[6]]])
    errors = [answer.json()["verdicts"][0]["error"] for answer in answers]
    assert errors == [None, 'column "day", row 1: "someday" is not an ISO date or time', None]


def test_other_options_are_another_pass(ask, rows):
    answers, joined = ask([("/v1/predict", rows[:1]), ("/v1/predict?alpha=0.9", rows[:1])])
    assert joined == [1, 1]
    assert [len(answer.json()["verdicts"]) for answer in answers] == [1, 1]


def test_shapes():
    def shape(*rows):
        return shape_of(list(rows), KINDS)

    assert shape({"amount": 1}) == shape({"amount": 2.5}) == shape({"amount": 1}, {"amount": None}, {"amount": 0.5})
    assert shape({"amount": None, "region": None}) == shape({"amount": 1, "region": "a"})
    assert shape({"amount": 1}) != shape({"amount": "1"})
    assert shape({"amount": 1}) != shape({"amount": True})
    assert shape({"amount": 1, "region": "a"}) != shape({"region": "a", "amount": 1})
    assert shape({"region": 7}) is not None
    assert shape({"region": 7.0}) is None  # a float's spelling depends on its company
    assert shape({"unknown": 7.0}) == shape({"unknown": "text"})  # the model does not look
    assert shape({"amount": 1}, {"amount": "1"}) is None
    assert shape({"amount": 1}, {"region": "a"}) is None
    assert shape({"amount": 1}, {"amount": 1, "region": "a"}) is None


def test_passes_hold_no_more_rows_than_they_should():
    class Asked:
        def __init__(self, n_rows):
            self.rows = [{}] * n_rows

    requests = [Asked(30) for _ in range(20)]
    parted = passes(requests)
    assert [request for together in parted for request in together] == requests
    assert [len(together) for together in parted] == [8, 8, 4]
    assert passes([]) == []
