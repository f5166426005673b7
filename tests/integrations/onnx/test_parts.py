"""The parts of the graph that have an exact counterpart, against it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gditd.calibration import ClassCalibrator
from gditd.tables.dates import PERIODS, part_codes
from gditd.views.trees import MOST_TREES, SHARE_STEPS, in_steps
from tests.integrations.onnx.runs import onnxruntime


def run(build, **given):
    """Build a graph around one input for each array, and run it."""
    from onnx import helper

    from gditd.integrations.onnx.builder import ML, GraphBuilder
    from gditd.integrations.onnx.model import IR_VERSION, ML_OPSET, OPSET

    graph = GraphBuilder(given)
    inputs = [
        graph.input(name, helper.np_dtype_to_tensor_dtype(array.dtype), list(array.shape))
        for name, array in given.items()
    ]
    last = build(graph, *inputs)
    graph.nodes.append(helper.make_node("Identity", [last], ["found"]))
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
    made = helper.make_model(graph.graph("test"), opset_imports=opsets, ir_version=IR_VERSION)
    made.graph.output.extend([helper.make_empty_tensor_value_info("found")])
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(made.SerializeToString(), options).run(None, given)[0]


@pytest.mark.parametrize("part", PERIODS)
def test_parts_of_dates(part):
    from gditd.integrations.onnx.dates import part_codes as coded

    days = np.arange("1580-01-01", "2420-01-01", dtype="datetime64[D]").astype("datetime64[us]")
    rng = np.random.default_rng(0)
    times = days + rng.integers(0, 86_400_000_000, len(days)).astype("timedelta64[us]")
    times[::7] = days[::7]
    times[1::7] = days[1::7] - np.timedelta64(1, "ms")
    times[5] = "NaT"
    seconds = np.where(np.isnat(times), np.nan, times.astype(np.int64) / 1e6)[:, None]
    found = run(lambda graph, value: coded(graph, value, part), seconds=seconds)
    np.testing.assert_array_equal(found[:, 0], part_codes(times, part))


@pytest.mark.parametrize("width", [1, 3, 5, 7, 8, 9, 16, 31, 37, 85, 128, 129, 256])
def test_sums_are_added_as_torch_adds(width):
    from gditd.integrations.onnx.sums import sum_of_row

    values = torch.randn(2, 500, width, generator=torch.Generator().manual_seed(0)) * 10
    found = run(lambda graph, value: sum_of_row(graph, value, width), values=values.numpy())
    expected = values.sum(-1, keepdim=True).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)
    if torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512"):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("width", [3, 8, 32, 37, 128])
def test_lengths(width):
    from gditd.integrations.onnx.sums import length_of_row

    values = torch.randn(2, 500, width, generator=torch.Generator().manual_seed(0))
    found = run(lambda graph, value: length_of_row(graph, value, width), values=values.numpy())
    np.testing.assert_allclose(found, values.norm(dim=-1, keepdim=True).numpy(), rtol=1e-6)


@pytest.mark.parametrize("n_trees", [1, 24, MOST_TREES])
def test_votes_lose_nothing_in_float32(n_trees):
    shares = in_steps(np.random.default_rng(0).random((n_trees, 400)))
    shares[:, 0] = SHARE_STEPS
    in_float32 = np.cumsum(shares.astype(np.float32), axis=0, dtype=np.float32)[-1]
    np.testing.assert_array_equal(in_float32, shares.sum(axis=0, dtype=np.int64))


@pytest.mark.parametrize("n_classes", [1, 4])
def test_ferns_say_the_same_to_the_bit(n_classes):
    from gditd.integrations.onnx.ferns import strangeness
    from gditd.views.ferns import Ferns
    from gditd.views.lesson import Lesson

    rng = np.random.default_rng(0)
    rows, codes = torch.from_numpy(rng.normal(size=(800, 6)).astype(np.float32)), rng.integers(n_classes, size=800)
    ferns = Ferns.learn(Lesson(None, rows, codes, np.arange(n_classes), np.arange(6), seed=0), 40)
    new = 2 * rng.normal(size=(500, 6)).astype(np.float32)
    new[:3] = [[np.nan] * 6, [np.inf] * 6, [-1e30] * 6]
    found = run(lambda graph, value: strangeness(graph, ferns, value), rows=new)
    np.testing.assert_array_equal(found, ferns.strangeness(torch.from_numpy(new)))


@pytest.mark.parametrize("n_folds", [1, 3])
def test_p_values(n_folds):
    from gditd.integrations.onnx.calibration import p_values

    rng = np.random.default_rng(0)
    n, k = 400, 4
    y = np.append(rng.integers(0, k - 1, n - 2), [k - 1, k - 1])
    scores = rng.normal(size=(n, k)).round(1).astype(np.float32)
    calibrator = ClassCalibrator.fit(scores, y, folds=np.arange(n) % n_folds, groups=[0, 1, 1, 2])
    new = np.concatenate([rng.normal(size=(n_folds, 300, k)).round(1), rng.normal(size=(n_folds, 300, k)) * 9], axis=1)
    new = new.astype(np.float32)
    side_by_side = new.transpose(1, 0, 2).reshape(600, -1)
    found = run(lambda graph, value: p_values(graph, value, calibrator), scores=side_by_side)
    np.testing.assert_array_equal(found, calibrator.p_values(new))


def test_a_class_without_calibration_rows_rejects_nothing():
    from gditd.integrations.onnx.calibration import p_values

    calibrator = ClassCalibrator.fit(np.zeros((3, 2), dtype=np.float32), [0, 0, 0])
    found = run(lambda graph, value: p_values(graph, value, calibrator), scores=np.ones((2, 2), dtype=np.float32))
    np.testing.assert_array_equal(found, [[0.25, 1.0], [0.25, 1.0]])


def test_straight_lines_between_knots():
    from gditd.integrations.onnx.fusion import scales
    from gditd.views.scale import SHARES, Scale

    rng = np.random.default_rng(0)
    knots = [np.sort(rng.normal(size=len(SHARES))), np.sort(rng.integers(0, 4, len(SHARES))).astype(float), SHARES * 0]
    of_view = [Scale(own, step) for own, step in zip(knots, (0.3, 1.0, 1e-3), strict=True)]
    scores = np.concatenate([rng.normal(size=(500, 3)) * 2, np.stack(knots, axis=1), rng.normal(size=(99, 3)) * 1e6])
    found = run(lambda graph, value: scales(graph, value, of_view), scores=scores)
    expected = np.column_stack([scale(own) for scale, own in zip(of_view, scores.T, strict=True)])
    np.testing.assert_array_equal(found, expected)
