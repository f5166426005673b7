"""What an exported file says about itself, how its inputs are named, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from torch import nn

import gditd
from gditd import GDITDClassifier
from gditd.detectors import Softmax
from gditd.integrations import onnx as integration
from gditd.integrations.onnx import export_onnx
from tests.integrations.onnx.runs import answers, assert_same, columns_of, onnxruntime, session_of
from tests.raw_tables import mixed_table, quick

pytestmark = pytest.mark.filterwarnings("ignore")  # of small classes, which are what is wanted here


@pytest.fixture(scope="module")
def model():
    return quick().fit(*mixed_table((70, 90, 130)))


def test_the_file_says_what_it_is(model, tmp_path):
    import onnx

    export_onnx(model, tmp_path / "m.onnx", alpha=0.1)
    made = onnx.load(tmp_path / "m.onnx")
    assert (made.producer_name, made.producer_version) == ("gditd", gditd.__version__)
    assert {opset.domain: opset.version for opset in made.opset_import} == {"": 18, "ai.onnx.ml": 3}
    facts = {entry.key: entry.value for entry in made.metadata_props}
    assert json.loads(facts["classes"]) == ["low", "middle", "top"]
    assert (facts["preset"], facts["alpha"], facts["alpha_of_fit"]) == ("fast", "0.1", "0.05")
    assert (facts["rule"], facts["calibration"]) == ("conformal", "split")
    assert list(json.loads(facts["views"])) == list(model.summary()["views"])
    columns = {column["column"]: column for column in json.loads(facts["columns"])}
    assert list(columns) == ["amount", "items", "region", "member", "day", "gap"]
    assert columns["region"]["kind"] == "category"
    assert (columns["region"]["type"], columns["region"]["missing"]) == ("string", "")
    assert (facts["numbers"], columns["amount"]["type"], columns["member"]["type"]) == ("float", "float", "float")
    assert (columns["day"]["kind"], columns["day"]["type"], columns["day"]["missing"]) == ("datetime", "double", "NaN")
    assert json.loads(facts["outputs"]).keys() == {output.name for output in made.graph.output}


@pytest.mark.parametrize("numbers", ["float", "double"])
def test_inputs_and_outputs(model, numbers):
    session = session_of(model, numbers=numbers)
    kinds = {"region": "string", "day": "double"}  # a moment as float would be minutes off
    assert {i.name: (i.type, i.shape) for i in session.get_inputs()} == {
        name: (f"tensor({kinds.get(name, numbers)})", ["rows", 1])
        for name in ("amount", "items", "region", "member", "day", "gap")
    }
    assert [(i.name, i.type) for i in session.get_overridable_initializers()] == [("alpha", f"tensor({numbers})")]
    assert {o.name: (o.type, o.shape) for o in session.get_outputs()} == {
        "verdict": ("tensor(string)", ["rows"]),
        "known_class": ("tensor(string)", ["rows"]),
        "p_value": ("tensor(double)", ["rows"]),
        "ood_score": ("tensor(float)", ["rows"]),
        "zeta": ("tensor(float)", ["rows", 3]),
        "class_scores": ("tensor(float)", ["rows", 3]),
    }


def test_an_alpha_that_must_be_given(model):
    rows, _ = mixed_table(seed=2)
    session = session_of(model, require_alpha=True)
    assert "alpha" in {i.name for i in session.get_inputs()}
    assert_same(model, rows, answers(session, rows, alpha=0.3), alpha=0.3)
    with pytest.raises(Exception, match="alpha"):
        answers(session, rows)


def test_an_alpha_that_stands_where_none_is_given(model):
    rows, _ = mixed_table(seed=2)
    assert_same(model, rows, answers(session_of(model, alpha=0.3), rows), alpha=0.3)


def test_columns_with_the_names_of_other_things():
    rows, labels = mixed_table((70, 90, 130))
    names = {
        "amount": "alpha",
        "items": "verdict",
        "region": "alpha_",
        "member": "",
        "day": "a b/ü",
        "gap": "gditd.Add.3",
    }
    rows = rows.rename(columns=names)
    model = quick().fit(rows, labels)
    session = session_of(model)
    inputs = {column["column"]: column["input"] for column in columns_of(session)}
    assert list(inputs) == list(names.values())
    assert len({*inputs.values(), "alpha", "verdict"}) == 8
    assert (inputs["a b/ü"], inputs["gditd.Add.3"]) == ("a b/ü", "gditd.Add.3")
    assert_same(model, rows, answers(session, rows))


def test_columns_that_do_not_count_are_no_inputs():
    rows, labels = mixed_table((70, 90, 130))
    rows = rows.assign(always="same", id=np.arange(len(rows)))
    model = quick(ignore=("id",)).fit(rows, labels)
    assert {column["column"] for column in columns_of(session_of(model))} == set(rows) - {"always", "id"}


@pytest.mark.parametrize("labels", [[3, 1, 2], [0.0, 1.0, 2.0], ["ü", "1", "x y"]])
def test_classes_of_any_name(labels):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 60)
    X = rng.normal(size=(len(y), 3)) + 3 * y[:, None]
    model = quick().fit(X, np.array(labels)[y])
    assert_same(model, X, answers(session_of(model), X))


def test_a_loaded_model_is_exported_the_same(model, tmp_path):
    plain = GDITDClassifier(preset="fast", max_epochs=2, random_state=0).fit(*mixed_table((70, 90, 130)))
    plain.save(tmp_path / "m.gditd")
    export_onnx(plain, tmp_path / "a.onnx")
    export_onnx(gditd.load(tmp_path / "m.gditd"), tmp_path / "b.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_a_file_that_is_there_is_replaced_whole(model, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_text("something else")
    export_onnx(model, str(path))
    onnxruntime.InferenceSession(path)
    assert [file.name for file in tmp_path.iterdir()] == ["m.onnx"]


# --- refusals ---


class OwnNetwork(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.layer = nn.Linear(n_features, 8)

    def forward(self, x):
        return self.layer(x).tanh()


def refusal(model, path, **settings):
    with pytest.raises(ValueError) as refused:
        export_onnx(model, path, **settings)
    assert not path.exists()
    return str(refused.value)


def test_networks_of_ones_own_are_refused(tmp_path):
    model = quick(backbone=OwnNetwork).fit(*mixed_table((70, 90, 130)))
    text = refusal(model, tmp_path / "m.onnx")
    assert text.startswith("backbone: a network of your own (OwnNetwork) cannot be exported")
    assert 'backbone="mlp"' in text


def test_views_without_a_graph_are_refused(tmp_path, model):
    from dataclasses import replace

    from gditd.views.zeta import Disagreement

    views = model.model_.fusion.views
    odd = replace(views, views={**views.views, "disagreement": Disagreement(views.classes)})
    strange = quick().fit(*mixed_table((70, 90, 130)))
    strange.model_.fusion = replace(strange.model_.fusion, views=odd)
    text = refusal(strange, tmp_path / "m.onnx")
    assert text == 'views: "disagreement" cannot be exported: fit with views="all", "few" or "zeta"'


def test_other_detectors_and_alphas_are_refused(tmp_path, model):
    softmax = Softmax(max_epochs=1).fit(np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2)
    assert "Softmax" in refusal(softmax, tmp_path / "m.onnx")
    assert "alpha" in refusal(model, tmp_path / "m.onnx", alpha=1.5)
    assert refusal(model, tmp_path / "m.onnx", numbers="half") == "numbers must be float or double, got 'half'"


def test_without_the_extra(tmp_path, model, monkeypatch):
    monkeypatch.setattr(integration, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'gditd\[onnx\]'"):
        export_onnx(model, tmp_path / "m.onnx")


def test_numbers_in_frames_of_any_kind(model):
    """Decimals, integers of any width and text that reads as numbers are all the same double."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(2), 80)
    frame = pd.DataFrame({"a": (rng.normal(size=160) + y).astype(np.float32), "b": rng.integers(0, 2**60, 160)})
    made = quick().fit(frame, y)
    assert_same(made, frame, answers(session_of(made), frame))
