"""Scores of a fitted model in the graph: what `FittedModel` computes from encoded rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gditd.fitted import FittedModel
from gditd.integrations.onnx.builder import GraphBuilder, Value
from gditd.integrations.onnx.encoding import never_seen
from gditd.integrations.onnx.fusion import fused
from gditd.integrations.onnx.looks import Sight
from gditd.integrations.onnx.networks import inputs_of, layer_outputs, picked_member, zeta_of_members
from gditd.integrations.onnx.operations import as_double, as_single, between, side_by_side


@dataclass(frozen=True)
class Scores:
    """Of n rows: scores and mean zeta (n, classes), and what calibrating folds go by (n, folds * classes), float32.

    A row's largest score is minus its OOD score. `ranking` (n, classes), float64, ranks the classes by how likely they
    are.
    """

    classes: Value
    zeta: Value
    by_fold: Value
    ranking: Value


def scores_of(graph: GraphBuilder, features: Value, model: FittedModel) -> Scores:
    """Score encoded rows for every class.

    A row of zeros keeps them company, for a product with a single row rounds differently from one with many.
    """
    company = np.zeros((1, model.encoder.width), dtype=np.float32)
    scores = scores_in_company(graph, graph("Concat", features, company, axis=0), model)
    return Scores(
        classes=without_last(graph, scores.classes),
        zeta=without_last(graph, scores.zeta),
        by_fold=without_last(graph, scores.by_fold),
        ranking=without_last(graph, scores.ranking),
    )


def without_last(graph: GraphBuilder, values: Value) -> Value:
    """All rows but the last."""
    return between(graph, values, 0, -1, axis=0)


def scores_in_company(graph: GraphBuilder, features: Value, model: FittedModel) -> Scores:
    """Score two rows or more."""
    n_members = model.cohort.n_members
    inputs = inputs_of(graph, features, model.cohort)
    layers = layer_outputs(graph, inputs, model.cohort)
    zeta = zeta_of_members(graph, layers[-1], model.cohort)
    evidence = never_seen(graph, features, model.encoder)
    members = [
        as_single(graph, lessened(graph, picked_member(graph, zeta, member), evidence)) for member in range(n_members)
    ]
    mean = mean_of_members(graph, members)
    if model.fusion is None:
        by_fold = side_by_side(graph, [[*members, mean][fold] for fold in model.folds.tolist()] or [mean])
        return Scores(mean, mean, by_fold, as_double(graph, mean))
    sight = Sight(graph, features=features, inputs=inputs, layers=layers, zeta=zeta, members=n_members)
    held_out, complete = fused(graph, model.fusion, sight)
    calibrated, ranked = (as_single(graph, lessened(graph, own.scores, evidence)) for own in (held_out, complete))
    return Scores(ranked, mean, calibrated, complete.ranking)


def lessened(graph: GraphBuilder, scores: Value, evidence: Value | None) -> Value:
    """Scores less what no training row had, which counts in full against every class."""
    return scores if evidence is None else graph("Sub", scores, evidence)


def mean_of_members(graph: GraphBuilder, members: list[Value]) -> Value:
    """The mean in float32, member after member as numpy adds them: calibration scores may tie with it to the bit."""
    total = members[0]
    for member in members[1:]:
        total = graph("Add", total, member)
    return graph("Div", total, np.float32(len(members)))
