import numpy as np
import pytest

from gditd.datasets import Dataset, DatasetError, dataset_names, load_dataset

FIRST_FILE = {
    "gas": ("UCI", "Gas Sensor Array Drift", "gas-sensor-array-drift.zip", "batch1.dat ... batch10.dat"),
    "drive": ("UCI", "Sensorless Drive Diagnosis", "Sensorless_drive_diagnosis.txt"),
    "mnist": ("MNIST database", "train-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
    "nsl-kdd": ("University of New Brunswick", "NSL-KDD", "KDDTrain+.txt", "KDDTest+.txt"),
    "shuttle": ("UCI", "Statlog (Shuttle)", "shuttle.trn", "shuttle.tst", "uncompress"),
}


def small(**changes):
    fields = {
        "name": "small",
        "X": np.zeros((3, 2)),
        "y": np.array([0, 1, 1]),
        "class_names": ("a", "b"),
        "feature_names": ("u", "v"),
        "ood_class": 0,
        "minority_class": 1,
        "source": "made here",
    }
    return Dataset(**(fields | changes))


def test_every_name_has_its_message():
    assert set(FIRST_FILE) <= set(dataset_names())


@pytest.mark.parametrize("name", FIRST_FILE)
def test_missing_files_say_what_to_download_and_where_to_put_it(name, tmp_path, raises):
    with raises(name, tmp_path, "--data DIR", "GDITD_DATA", *FIRST_FILE[name]):
        load_dataset(name, tmp_path)


@pytest.mark.parametrize("name", FIRST_FILE)
def test_no_folder_at_all(name, monkeypatch, raises):
    monkeypatch.delenv("GDITD_DATA", raising=False)
    with raises("no data folder is set", "--data DIR", "GDITD_DATA", *FIRST_FILE[name]):
        load_dataset(name)


def test_empty_variable_is_no_folder(monkeypatch, raises):
    monkeypatch.setenv("GDITD_DATA", "")
    with raises("no data folder is set"):
        load_dataset("gas")


def test_folder_that_does_not_exist(tmp_path, raises):
    with raises(tmp_path / "nowhere", "is not a readable folder", "Download"):
        load_dataset("gas", tmp_path / "nowhere")


def test_variable_names_the_folder_and_the_argument_wins(monkeypatch, tmp_path, raises):
    (tmp_path / "variable").mkdir()
    (tmp_path / "argument").mkdir()
    monkeypatch.setenv("GDITD_DATA", str(tmp_path / "variable"))
    with raises(tmp_path / "variable"):
        load_dataset("drive")
    with raises(tmp_path / "argument"):
        load_dataset("drive", tmp_path / "argument")


def test_unknown_name_lists_the_known_ones(raises):
    with raises("'gaz'", *dataset_names()):
        load_dataset("gaz")


def test_unknown_source_lists_the_known_ones(raises):
    with raises("drive", "'openml'", "files"):
        load_dataset("drive", source="openml")
    with raises("'ftp'", "files, openml"):
        load_dataset("mnist", source="ftp")


def test_error_is_a_value_error():
    assert issubclass(DatasetError, ValueError)


def test_dataset_describes_itself():
    assert repr(small()) == "Dataset('small': 3 rows x 2 features, 2 classes)"
    assert small().class_counts() == {"a": 1, "b": 2}
    assert small().classes == (0, 1)


def test_dataset_with_text_classes():
    named = small(y=np.array(["b", "b", "a"]), ood_class="a", minority_class="b")
    assert named.classes == ("a", "b")
    assert named.class_counts() == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"y": np.zeros(2, dtype=int)}, "y has 2 entries for 3 rows"),
        ({"split": np.array(["train"])}, "split has 1 entries"),
        ({"extra": {"ppm": np.zeros(4)}}, "ppm has 4 entries"),
        ({"feature_names": ("u",)}, "1 feature names for 2 columns"),
        ({"ood_class": 2}, "2 is not one of its classes"),
        ({"minority_class": "b"}, "'b' is not one of its classes"),
    ],
)
def test_dataset_refuses_what_does_not_fit(changes, part, raises):
    with raises("small", part):
        small(**changes)
