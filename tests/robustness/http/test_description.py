"""Requests made up from what the API says of itself."""

from __future__ import annotations

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

from tests.robustness.http.hostile import PREDICT
from tests.robustness.served import Served
from tests.robustness.torture import tries

pytestmark = pytest.mark.xdist_group("hostile http")  # one service for all of them


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
