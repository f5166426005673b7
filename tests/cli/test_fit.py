import json
import shutil

import numpy as np
import pytest

import gditd
from gditd.cli.commands.fit import Preset
from gditd.cli.tasks import fit as fit_task
from gditd.cli.tasks.fit import default_name
from gditd.presets import PRESETS
from gditd.tables import read_table
from tests.cli.conftest import invoke
from tests.report.pages import read


def test_says_what_it_learned_and_what_to_type_next(folder, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = run("fit", folder / "train.csv", "--target", "label", "--preset", "fast", "--ignore", "items").stdout
    assert "Learned 3 classes from 260 rows and 5 columns" in output
    assert "Proven (split calibration)" in output
    assert "gditd predict train.gditd" in output
    model = gditd.load("train.gditd")
    assert list(model.ignore) == ["items"]
    assert model.progress is None


def test_json_is_one_document(folder, run, tmp_path):
    out = tmp_path / "m.gditd"
    result = run("fit", folder / "train.csv", "--target", "label", "--preset", "fast", "--out", out, "--json")
    document = json.loads(result.stdout)
    assert result.stderr == ""
    assert (document["model"], document["rows"], document["notes"]) == (str(out), 260, [])
    assert [known["rows"] for known in document["classes"]] == [70, 80, 110]
    rows = read_table(folder / "train.csv").drop_columns(["label"])
    first, again = (gditd.load(path).ood_score(rows) for path in (folder / "model.gditd", out))
    assert np.array_equal(first, again), "the same seed gives the same model"


def test_rare_classes_are_notes_and_quiet_is_quiet(run, tmp_path):
    table = tmp_path / "rare.csv"
    rows = [f"{i % 7 + 10 * (i >= 60)},{'true' if i < 60 else 'false'}" for i in range(66)]
    table.write_text("x,state\n" + "\n".join(rows) + "\n")
    fit = ("fit", table, "--target", "state", "--preset", "fast", "--out", tmp_path / "m.gditd")
    assert "note: too few rows" in run(*fit).stdout
    quiet = run(*fit, "--quiet")
    assert (quiet.stdout, quiet.stderr) == ("", "")
    assert gditd.load(tmp_path / "m.gditd").classes_.tolist() == ["false", "true"], "spelled as in the table"


def test_the_paper_preset_promises_nothing(folder, run, tmp_path):
    fit = (
        "fit",
        folder / "train.csv",
        "--target",
        "label",
        "--preset",
        "paper",
        "--out",
        tmp_path / "m.gditd",
        "--json",
    )
    document = json.loads(run(*fit).stdout)
    assert document["proven"].startswith("Nothing is proven")
    assert {known["promise"] for known in document["classes"]} == {None}


def test_report(folder, run, tmp_path):
    report = tmp_path / "r.html"
    fit = ("fit", folder / "train.csv", "--target", "label", "--preset", "fast", "--out", tmp_path / "m.gditd")
    assert f"Report written to {report}." in " ".join(run(*fit, "--report", report).stdout.split())
    page = read(report)
    assert {"training", "map", "confusion"} < set(page.anchors)
    assert "held out of training" in page.text
    first, again = (gditd.load(path).class_counts_ for path in (folder / "model.gditd", tmp_path / "m.gditd"))
    assert np.array_equal(first, again)


def test_ctrl_c_while_the_report_is_made_says_that_the_model_is_there(folder, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(fit_task, "fit_report", interrupted)
    monkeypatch.chdir(tmp_path)
    result = invoke("fit", folder / "train.csv", "--target", "label", "--preset", "fast", "--report", "r.html")
    told = "interrupted: the model was written to train.gditd, the report was not\n"
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", told)
    assert [path.name for path in tmp_path.iterdir()] == ["train.gditd"]


def test_presets_are_those_of_the_classifier():
    assert {preset.value for preset in Preset} == set(PRESETS)


@pytest.mark.parametrize("table", ["a/parts.csv", "parts.csv.gz", "parts.parquet"])
def test_default_name(tmp_path, table):
    assert default_name(tmp_path / table) == "parts.gditd"


def test_bad_input(folder, fail, tmp_path):
    train = folder / "train.csv"
    assert 'no column "nope"' in fail("fit", train, "--target", "nope")
    assert "--ignore" in fail("fit", train, "--target", "label", "--ignore", "label")
    assert "there is no folder" in fail("fit", train, "--target", "label", "--out", "no/m.gditd")
    assert "is a folder" in fail("fit", train, "--target", "label", "--out", tmp_path)
    assert "would replace the input" in fail("fit", train, "--target", "label", "--out", train)
    unknown = tmp_path / "unknown.csv"
    shutil.copy(folder / "test.csv", unknown)
    assert "would replace the input" in fail("fit", train, "--target", "label", "--ood", unknown, "--out", unknown)
    assert unknown.read_bytes() == (folder / "test.csv").read_bytes()
    assert "ends in .html" in fail("fit", train, "--target", "label", "--report", "r.txt")
    assert "no file" in fail("fit", "none.csv", "--target", "label")
    assert "several members" in fail("fit", train, "--target", "label", "--preset", "fast", "--calibration", "cross")
