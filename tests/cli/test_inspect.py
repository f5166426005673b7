import json

import gditd


def test_json_is_the_models_summary(folder, run):
    model = folder / "model.gditd"
    document = json.loads(run("inspect", model, "--json").stdout)
    assert document == {"model": str(model), "signed_by": None, **gditd.load(model).summary()}
    assert [column["kind"] for column in document["columns"]] == [
        "number", "number", "category", "boolean", "datetime", "number",
    ]  # fmt: skip


def test_for_people(folder, run):
    output = run("inspect", folder / "model.gditd").stdout
    for text in ("preset fast", "1 member", "Proven (split calibration)", "smallest", "datetime", "3 categories"):
        assert text in output


def test_bad_models(folder, fail, tmp_path):
    whole = (folder / "model.gditd").read_bytes()
    for size in (0, 7, 1000, len(whole) - 1):
        (tmp_path / "cut.gditd").write_bytes(whole[:size])
        assert "cannot load cut.gditd" in fail("inspect", "cut.gditd")
