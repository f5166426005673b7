"""Exported models at work, and how their answers compare with gditd's."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gditd import GDITDClassifier
from gditd.tables import to_arrow
from gditd.tables.columns import as_numbers, as_text, as_times
from gditd.tables.schema import seconds

pytest.importorskip("onnx", reason="needs onnx: pip install 'gditd[onnx]'")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'gditd[onnx]'")


TYPES: dict[str, Any] = {"float": np.float32, "double": np.float64, "string": object}


def session_of(model: GDITDClassifier, **settings: Any) -> Any:
    """The model in onnxruntime; its numbers are double, with which verdicts can be gditd's to the bit."""
    from gditd.integrations.onnx.model import to_onnx

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # that alpha has a default is no reason to warn
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        to_onnx(model, **{"numbers": "double", **settings}).SerializeToString(), options
    )


def columns_of(session: Any) -> list[dict[str, str]]:
    return json.loads(session.get_modelmeta().custom_metadata_map["columns"])


def feeds(session: Any, X: Any) -> dict[str, np.ndarray]:
    """The inputs for the rows of a table; what an array's columns are called does not matter."""
    table = to_arrow(X)
    found = {}
    for column in columns_of(session):
        values = table.column(column["column"])
        if column["kind"] == "category":
            given = np.array(["" if v is None else v for v in as_text(values).to_pylist()], dtype=object)
        elif column["kind"] == "datetime":
            given = seconds(as_times(values, "")[0])
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                given = np.array(as_numbers_or_infinite(values), dtype=np.float64)
        found[column["input"]] = given.astype(TYPES[column["type"]]).reshape(-1, 1)
    return found


def as_numbers_or_infinite(values: Any) -> np.ndarray:
    try:
        return values.cast("float64").to_numpy()
    except Exception:  # booleans and text
        return as_numbers(values, "")[0]


@dataclass(frozen=True)
class Answers:
    """What the graph says of some rows, by output."""

    by_name: dict[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.by_name[name]


def answers(session: Any, X: Any, alpha: float | None = None, rows_at_once: int = 1_000) -> Answers:
    """Run rows through the graph, some at a time."""
    given = feeds(session, X)
    n = len(next(iter(given.values())))
    names = [output.name for output in session.get_outputs()]
    kind = TYPES[session.get_modelmeta().custom_metadata_map["numbers"]]
    extra = {} if alpha is None else {"alpha": np.array(alpha, dtype=kind)}
    parts = [
        session.run(names, {name: values[start : start + rows_at_once] for name, values in given.items()} | extra)
        for start in range(0, max(n, 1), rows_at_once)
    ]
    return Answers({name: np.concatenate([part[place] for part in parts]) for place, name in enumerate(names)})


def assert_same(model: GDITDClassifier, X: Any, found: Answers, alpha: float | None = None) -> None:
    """Compare with gditd's own verdicts.

    On a processor on which torch or the runtime rounds otherwise, scores may differ in their last digits, and a row on
    the very border may then fall on its other side. Where a row's scores are equal, all else must be; but for what
    p-values go by, which the graph does not give: there, a row must not be where a row that calibrates is.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdicts = model.verdict(X, alpha)
        scores = model.class_scores(X)
        values = model._encode(X).values
        zeta = model.model_.mean_zeta(values)
    np.testing.assert_allclose(found["class_scores"], scores, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found["ood_score"], verdicts["ood_score"], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found["zeta"], zeta, rtol=1e-4, atol=1e-4)
    same_scores = (found["class_scores"] == scores).all(axis=1)
    if model.model_.fusion is None:  # members' own scores may differ where their mean does not
        same_scores &= (found["zeta"] == zeta).all(axis=1)
    frame = pd.DataFrame({name: found[name] for name in ("verdict", "known_class", "p_value")})
    expected = verdicts[["verdict", "known_class", "p_value"]].astype({"verdict": str, "known_class": str})
    assert (frame["known_class"] == expected["known_class"])[same_scores].all()
    told = same_scores if model.model_.ranks_as_calibrated else same_scores & ~beside_a_step(model, values)
    pd.testing.assert_frame_equal(
        frame[told], expected[told], check_dtype=False, check_exact=True, obj="rows with the same scores"
    )
    assert (frame["verdict"] == expected["verdict"]).mean() > 0.99
    assert (frame["known_class"] == expected["known_class"]).mean() > 0.99


def beside_a_step(model: GDITDClassifier, values: Any) -> np.ndarray:
    """Which encoded rows have a score that a row that calibrates has nearly too, (n,)."""
    scores = model.model_.scored(values).by_fold.reshape(len(values), -1)
    steps = np.sort(-model.model_.calibrator.state()[1]["scores"])
    after = np.clip(np.searchsorted(steps, scores), 1, len(steps) - 1)
    gaps = np.minimum(np.abs(scores - steps[after - 1]), np.abs(scores - steps[after]))
    return (gaps <= 1e-4 * (1 + np.abs(scores))).any(axis=1)
