"""Tables of experiments."""

import numpy as np
import pytest

from gditd.bench import BenchError, Experiment
from gditd.bench.tables import from_file, load_table, refuse_unknown, sample


def test_a_file_has_classes_as_text_and_no_target_among_its_features(cases):
    table = from_file(cases, "label")
    assert table.name == "cases"
    assert "label" not in table.features.column_names
    assert "alien" in table.class_names
    assert len(table.labels) == table.features.num_rows == 180


def test_ignored_columns_are_gone_and_must_exist(cases):
    experiment = Experiment(dataset=str(cases), target="label", methods=("knn",), ignore=("amount",))
    assert "amount" not in load_table(experiment, None).features.column_names
    with pytest.raises(BenchError, match="--ignore: cases has no column 'amuont'"):
        load_table(Experiment(dataset=str(cases), target="label", methods=("knn",), ignore=("amuont",)), None)


def test_missing_labels_and_columns_are_named(tmp_path, cases):
    with pytest.raises(BenchError, match='has no column "kind"'):
        from_file(cases, "kind")
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,a\n2,\n3,b\n")
    with pytest.raises(BenchError, match=r'column "y" of .* is empty in row 2'):
        from_file(path, "y")


def test_neither_file_nor_data_set(cases):
    with pytest.raises(BenchError, match="is neither a file nor a known data set"):
        refuse_unknown(Experiment(dataset="gsa", methods=("knn",)))
    with pytest.raises(BenchError, match="is a file: name its label column with --target COL"):
        refuse_unknown(Experiment(dataset=str(cases), methods=("knn",)))


def test_samples_keep_proportions_and_rare_classes():
    labels = np.repeat(["a", "b", "c"], [9000, 900, 60])
    rows = sample(labels, 1000)
    counts = dict(zip(*np.unique(labels[rows], return_counts=True), strict=True))
    assert counts == {"a": 904, "b": 90, "c": 50}
    np.testing.assert_array_equal(rows, sample(labels, 1000))
    assert len(sample(labels, None)) == len(sample(labels, 10_000)) == 9960


def test_the_fingerprint_sees_every_value(cases, tmp_path):
    table = from_file(cases, "label")
    text = cases.read_text()
    for name, changed in {
        "same": text,
        "other_value": text.replace("90.0", "90.5", 1),
        "other_label": text.replace("alien", "elian", 1),
    }.items():
        path = tmp_path / f"{name}.csv"
        path.write_text(changed)
        assert (from_file(path, "label").fingerprint() == table.fingerprint()) == (name == "same"), name
