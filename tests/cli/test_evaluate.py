import json

import pyarrow as pa
import pytest

from gditd.cli.tasks import tables
from gditd.cli.tasks.classes import class_codes

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


def test_bad_input(folder, fail, tmp_path):
    model = folder / "model.gditd"
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
