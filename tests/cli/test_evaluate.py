import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from gditd.cli.tasks import tables
from gditd.cli.tasks.classes import class_codes
from tests.raw_tables import quick
from tests.report.pages import read

OOD_KEYS = {"ood_recall", "ood_auroc", "ood_aupr", "tnr_at_85_tpr"}
KEYS = OOD_KEYS | {
    "n_rows",
    "id_accuracy",
    "balanced_accuracy",
    "minority_class",
    "minority_aupr",
    "false_alarm_rate",
}


def test_json(folder, run, monkeypatch):
    evaluate = ("evaluate", folder / "model.gditd", folder / "test.csv", "--target", "label", "--json")
    result = run(*evaluate)
    document = json.loads(result.stdout)
    assert result.stderr == ""
    assert document.keys() >= KEYS
    assert (document["n_rows"], document["n_ood"], document["minority_class"]) == (90, 10, "low")
    assert document["ood_auroc"] == document["ood_recall"] == 1
    assert document["unseen_classes"] == [{"class": "alien", "rows": 10, "ood_recall": 1.0}]
    assert [known["rows"] for known in document["classes"]] == [10, 30, 40]
    monkeypatch.setattr(tables, "CHUNK_ROWS", 8)
    assert json.loads(run(*evaluate).stdout) == document, "chunks change nothing"


def test_without_ood_rows_their_figures_are_null(folder, run):
    result = run("evaluate", folder / "model.gditd", folder / "train.csv", "--target", "label", "--json")
    document = json.loads(result.stdout)
    assert {name for name in KEYS if document[name] is None} == OOD_KEYS


def test_for_people(folder, run):
    output = run("evaluate", folder / "model.gditd", folder / "test.csv", "--target", "label", "--alpha", 0.2).stdout
    assert "alpha 0.2" in output
    assert "tnr_at_85_tpr" in output
    assert "alien" in output


def test_report_has_the_figures_of_the_document(folder, run, tmp_path, monkeypatch):
    evaluate = ("evaluate", folder / "model.gditd", folder / "test.csv", "--target", "label", "--json")
    plain = json.loads(run(*evaluate).stdout)
    report = tmp_path / "r.html"
    document = json.loads(run(*evaluate, "--report", report).stdout)
    assert document == plain | {"report": str(report)}
    page = read(report)
    shown = {row[0]: row[1] for row in page.tables["All figures"][1:]}
    assert shown == {name: f"{100 * document[name]:.1f} %" for name in shown}
    assert {document[name] for name in shown} <= set(page.values())
    assert "amount = 90, usual" in page.tables["Strangest rows"][1][1], "a number, though CSV chunks hold text"
    assert page.tables["Strangest rows"][1][2] == "alien (unseen)"
    monkeypatch.setattr(tables, "CHUNK_ROWS", 8)
    again = tmp_path / "again.html"
    run(*evaluate, "--report", again)
    without_time = [re.sub(r"<dt>made</dt><dd>.*</dd>", "", path.read_text("utf-8")) for path in (report, again)]
    assert without_time[0] == without_time[1], "chunks change nothing"


@pytest.mark.filterwarnings("ignore::gditd.promises.RareClassWarning")
def test_report_of_a_file_whose_columns_change_their_type(run, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    rows = [{"x": float(rng.normal() + 9 * (i % 2)), "code": str(i % 5), "kind": "ab"[i % 2]} for i in range(80)]
    model = quick(backbone="mlp").fit(
        pd.DataFrame(rows)[["x", "code"]].replace({"code": {"4": "four"}}), list("ab") * 40
    )
    model.save(tmp_path / "m.gditd")
    for i, row in enumerate(rows):
        row["code"] = int(row["code"]) if i < 40 else "four"
        row["x"] = round(row["x"]) if i < 20 else row["x"]
    (tmp_path / "new.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    monkeypatch.setattr(tables, "CHUNK_ROWS", 10)
    run("evaluate", tmp_path / "m.gditd", tmp_path / "new.jsonl", "--target", "kind", "--report", tmp_path / "r.html")
    assert "code" in read(tmp_path / "r.html").tables["What changed"][1]


@pytest.mark.filterwarnings("ignore::gditd.promises.RareClassWarning")
def test_report_on_a_model_that_knows_no_column_names(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=60), np.ones(60)]) + 5.0 * (np.arange(60) % 2)[:, None] * [1, 0]
    quick(backbone="mlp").fit(rows, np.arange(60) % 2).save(tmp_path / "m.gditd")
    pd.DataFrame(rows, columns=["a", "b"]).assign(y=np.arange(60) % 2).to_csv(tmp_path / "new.csv", index=False)
    run("evaluate", tmp_path / "m.gditd", tmp_path / "new.csv", "--target", "y", "--report", tmp_path / "r.html")
    assert "have one value in all training rows: x1." in read(tmp_path / "r.html").text


def test_bad_input(folder, fail, tmp_path):
    model = folder / "model.gditd"
    test = (model, folder / "test.csv", "--target", "label", "--report")
    assert "ends in .html" in fail("evaluate", *test, "r.pdf")
    assert "there is no folder" in fail("evaluate", *test, "none/r.html")
    assert 'no column "x"' in fail("evaluate", model, folder / "test.csv", "--target", "x")
    lines = (folder / "train.csv").read_text().splitlines()
    (tmp_path / "gap.csv").write_text("\n".join([*lines[:3], lines[3].rsplit(",", 1)[0] + ","]))
    assert 'column "label", row 3: no label' in fail("evaluate", model, "gap.csv", "--target", "label")
    (tmp_path / "none.csv").write_text(lines[0] + "\n")
    assert "no rows" in fail("evaluate", model, "none.csv", "--target", "label")


@pytest.mark.parametrize(
    ("labels", "classes", "codes"),
    [
        (["1", "1.0", "2", "new"], pa.array([1, 2]), [0, 0, 1, -1]),
        (["true", "False", "maybe", "true"], pa.array([False, True]), [1, 0, -1, 1]),
        (["b", "a", "1", "b"], pa.array(["a", "b"]), [1, 0, -1, 1]),
    ],
)
def test_labels_are_compared_in_the_kind_of_the_classes(labels, classes, codes):
    column = pa.chunked_array([labels])
    assert class_codes(column, classes.to_numpy(zero_copy_only=False)).tolist() == codes
