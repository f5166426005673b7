"""Graphs whose numbers are float32, which is what callers hold who do not come from Python."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.integrations.onnx.runs import answers, assert_same, session_of
from tests.raw_tables import mixed_table, quick

pytestmark = pytest.mark.filterwarnings("ignore")  # of small classes, which are what is wanted here


@pytest.fixture(scope="module")
def model():
    return quick().fit(*mixed_table((70, 90, 130)))


@pytest.fixture(scope="module")
def session(model):
    return session_of(model, numbers="float", require_alpha=True)


def test_rows_that_a_float_holds_get_gditds_verdicts_to_the_bit(model, session):
    rows, _ = mixed_table(seed=2)
    for name in ("amount", "items", "gap"):
        rows[name] = rows[name].astype(np.float32)
    for alpha in (0.05, 0.3):
        assert_same(model, rows, answers(session, rows, alpha=alpha), alpha=alpha)


def test_moments_keep_their_seconds(model, session):
    """As float32, the days of a table would all lie minutes apart from what they were."""
    rows, _ = mixed_table(seed=2)
    rows["day"] = pd.to_datetime("2024-03-10 23:59:59") + pd.to_timedelta(np.arange(len(rows)), unit="s")
    for name in ("amount", "items", "gap"):
        rows[name] = rows[name].astype(np.float32)
    assert_same(model, rows, answers(session, rows, alpha=0.05), alpha=0.05)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1, 0.15, 0.7, 0.0001, 0.1234567])
def test_an_alpha_is_the_decimal_it_was_made_from(alpha):
    """At alpha 0.01 a p-value of 0.01 is no alarm, though float32's 0.01 lies below it and its 0.05 above."""
    import onnx
    from onnx import TensorProto, helper

    from gditd.integrations.onnx.builder import GraphBuilder
    from gditd.integrations.onnx.model import level_of
    from tests.integrations.onnx.runs import onnxruntime

    graph = GraphBuilder([])
    graph.output("level", level_of(graph, "float", default=None), TensorProto.DOUBLE, [])
    made = helper.make_model(graph.graph("alpha"), opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.checker.check_model(made)
    (level,) = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"alpha": np.array(alpha, np.float32)})
    assert level == alpha
    assert np.float64(np.float32(alpha)) != alpha


def test_numbers_too_large_for_a_float_are_unreadable(session):
    rows, _ = mixed_table(seed=2)
    rows.loc[0, "amount"] = 1e39
    found = answers(session, rows, alpha=0.05)
    assert (found["verdict"][0], found["p_value"][0]) == ("OOD", 0.0)
    assert (found["p_value"][1:] > 0).all()
