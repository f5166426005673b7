"""The whole model as one graph, from a table's columns to verdicts, and what the file says about itself."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from gditd import GDITDClassifier, __version__
from gditd.integrations.onnx import Numbers
from gditd.integrations.onnx.builder import ML, GraphBuilder, Value
from gditd.integrations.onnx.calibration import p_values
from gditd.integrations.onnx.columns import ROWS, TENSORS, Column, named_columns, raw_rows
from gditd.integrations.onnx.encoding import encoded_rows
from gditd.integrations.onnx.operations import as_double, reduced
from gditd.integrations.onnx.refusals import refuse_unfit
from gditd.integrations.onnx.scores import Scores, scores_of
from gditd.integrations.onnx.verdicts import by_p_value, by_sign, likeliest, names_of

OPSET = 18
ML_OPSET = 3  # the last with trees whose leaves have a share for every class
IR_VERSION = 8

ALPHA = "alpha"
ALPHA_STEPS = 1e7
OUTPUTS = {
    "verdict": "the class as text, or OOD",
    "known_class": "the most likely known class in any case",
    "p_value": "of the best class, small means OOD; 0 for a row that cannot be read, NaN where nothing is calibrated",
    "ood_score": "higher = stranger",
    "zeta": "the networks' score of each class; positive means inside its sphere",
    "class_scores": "the score of each class, higher = more that class; the largest is minus ood_score",
}


def to_onnx(
    model: GDITDClassifier, *, alpha: float | None = None, require_alpha: bool = False, numbers: Numbers = "float"
) -> onnx.ModelProto:
    """Turn a fitted classifier into an ONNX model; see :func:`export_onnx`."""
    refuse_unfit(model, alpha, numbers)
    alpha = float(model.alpha if alpha is None else alpha)
    columns = named_columns(model.model_.encoder, [ALPHA, *OUTPUTS], numbers)
    graph = GraphBuilder([column.input for column in columns])
    raw = raw_rows(graph, columns, model.model_.encoder)
    level = level_of(graph, numbers, default=None if require_alpha else alpha)
    scores = scores_of(graph, encoded_rows(graph, raw, model.model_.encoder), model.model_)
    add_outputs(graph, model, scores, level, raw.unreadable)
    made = helper.make_model(
        graph.graph("gditd"),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)],
        ir_version=IR_VERSION,
        producer_name="gditd",
        producer_version=__version__,
        doc_string="Classifies rows of a table, or says that they belong to no known class.",
    )
    helper.set_model_props(made, metadata(model, columns, alpha, numbers))
    onnx.checker.check_model(made, full_check=True)
    return made


def level_of(graph: GraphBuilder, numbers: Numbers, default: float | None) -> Value:
    """The input alpha, in float64; a float32 is taken for the decimal it was made from.

    P-values are fractions, and one of exactly 0.01 is no alarm at 0.01: as it stands, a float32 would lie below it or
    above. Seven decimals are what every float32 below 1 keeps.
    """
    kind = np.float32 if numbers == "float" else np.float64
    if default is None:
        given = graph.input(ALPHA, TENSORS[numbers], [])
    else:
        given = graph.input_with_default(ALPHA, kind(default))
    if numbers == "double":
        return given
    whole = graph("Round", graph("Mul", as_double(graph, given), np.float64(ALPHA_STEPS)))
    return graph("Div", whole, np.float64(ALPHA_STEPS))


def add_outputs(
    graph: GraphBuilder, model: GDITDClassifier, scores: Scores, alpha: Value, unreadable: Value | None
) -> None:
    """Verdicts and what they rest on."""
    k = len(model.classes_)
    names = np.array([*map(str, model.classes_.tolist()), "OOD"])
    rule, calibrator = model.summary()["rule"], model.model_.calibrator
    p = None if calibrator is None else p_values(graph, graph("Neg", scores.by_fold), calibrator)
    if rule == "sign" or p is None:
        winners = by_sign(graph, scores.classes, ood=k)
    else:
        winners = by_p_value(graph, scores.ranking, p, alpha, ood=k)
    best = reduced(graph, "Max", scores.classes, 1, keep=False)
    p_value = not_calibrated(graph, best) if p is None else reduced(graph, "Max", p, 1, keep=False)
    if unreadable is not None:
        winners = graph("Where", unreadable, np.int64(k), winners)
        p_value = graph("Where", graph("Squeeze", unreadable, np.array([1])), np.float64(0), p_value)
    graph.output("verdict", names_of(graph, winners, names), TensorProto.STRING, [ROWS])
    graph.output("known_class", names_of(graph, likeliest(graph, scores.ranking), names), TensorProto.STRING, [ROWS])
    graph.output("p_value", p_value, TensorProto.DOUBLE, [ROWS])
    graph.output("ood_score", graph("Neg", best), TensorProto.FLOAT, [ROWS])
    graph.output("zeta", scores.zeta, TensorProto.FLOAT, [ROWS, k])
    graph.output("class_scores", scores.classes, TensorProto.FLOAT, [ROWS, k])


def not_calibrated(graph: GraphBuilder, of_row: Value) -> Value:
    """NaN for every row."""
    zeros = graph("Mul", as_double(graph, of_row), np.float64(0))
    return graph("Add", zeros, np.float64(np.nan))


def metadata(model: GDITDClassifier, columns: list[Column], alpha: float, numbers: Numbers) -> dict[str, str]:
    """What the file says about itself: texts by name, most of them JSON."""
    summary = model.summary()
    facts: dict[str, Any] = {
        "columns": [column.document() for column in columns],
        "numbers": numbers,
        "outputs": OUTPUTS,
        "classes": [str(label) for label in model.classes_.tolist()],
        "alpha": alpha,
        "alpha_of_fit": float(model.alpha),
        "rule": summary["rule"],
        "calibration": summary["calibration"],
        "proven": summary["proven"],
        "preset": model.preset,
        "views": summary["views"],
        "gditd": __version__,
    }
    return {name: fact if isinstance(fact, str) else json.dumps(fact) for name, fact in facts.items()}
