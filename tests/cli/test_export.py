"""`gditd export`."""

from __future__ import annotations

import json

import pytest

from gditd.cli.tasks import export as task

onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'gditd[onnx]'")


def test_writes_a_graph_that_runs(folder, run, tmp_path):
    result = run("export", folder / "model.gditd", tmp_path / "m.onnx")
    assert result.stdout.startswith(f"Wrote {tmp_path / 'm.onnx'}, ")
    assert "Outputs: verdict, known_class, p_value, ood_score, zeta, class_scores." in result.stdout
    assert [file.name for file in tmp_path.iterdir()] == ["m.onnx"]
    assert "amount" in {i.name for i in onnxruntime.InferenceSession(tmp_path / "m.onnx").get_inputs()}


def test_json(folder, run, tmp_path):
    result = run("export", folder / "model.gditd", tmp_path / "m.onnx", "--json", "--alpha", "0.1")
    document = json.loads(result.stdout)
    assert document["onnx"] == str(tmp_path / "m.onnx")
    assert document["bytes"] == (tmp_path / "m.onnx").stat().st_size
    assert (document["opset"], document["alpha"]) == (18, 0.1)
    assert {column["column"] for column in document["columns"]} >= {"amount", "region"}


def test_quiet_and_required_alpha(folder, run, tmp_path):
    result = run("export", folder / "model.gditd", tmp_path / "m.onnx", "--quiet", "--require-alpha")
    assert (result.stdout, result.stderr) == ("", "")
    assert "alpha" in {i.name for i in onnxruntime.InferenceSession(tmp_path / "m.onnx").get_inputs()}


def test_numbers_as_double(folder, run, tmp_path):
    result = run("export", folder / "model.gditd", tmp_path / "m.onnx", "--numbers", "double")
    assert " of float" not in result.stdout
    inputs = onnxruntime.InferenceSession(tmp_path / "m.onnx").get_inputs()
    assert {i.type for i in inputs if i.name == "amount"} == {"tensor(double)"}


def test_an_alpha_without_effect_gets_a_note(folder, run, tmp_path):
    result = run("export", folder / "model.gditd", tmp_path / "m.onnx", "--alpha", "0.0001")
    assert result.stderr.startswith("note: nothing can be called OOD at alpha 0.0001")


def test_refusals(folder, fail, tmp_path):
    model = folder / "model.gditd"
    assert "ends in .onnx" in fail("export", model, "m.txt")
    assert "there is no folder" in fail("export", model, "nowhere/m.onnx")
    assert "none.gditd" in fail("export", "none.gditd", "m.onnx")
    assert "does not lie between 0 and 1" in fail("export", model, "m.onnx", "--alpha", "2")
    assert "'half' is not one of 'float', 'double'" in fail("export", model, "m.onnx", "--numbers", "half")
    (tmp_path / "folder.onnx").mkdir()
    assert "is a folder" in fail("export", model, "folder.onnx")
    (tmp_path / "same.onnx").write_bytes(model.read_bytes())
    assert "would replace the model itself" in fail("export", "same.onnx", "same.onnx")


def test_without_the_extra(folder, fail, monkeypatch):
    monkeypatch.setattr(task, "is_installed", lambda: False)
    assert "pip install 'gditd[onnx]'" in fail("export", folder / "model.gditd", "m.onnx")
