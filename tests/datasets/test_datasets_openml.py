from http.client import IncompleteRead
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from gditd.datasets import gas, load_dataset, mnist, shuttle


@pytest.fixture
def answer(monkeypatch):
    """Let OpenML answer with a table, or with an error; the calls are recorded."""
    calls = []

    def install(data, target=None):
        def fetch_openml(name, **options):
            calls.append((name, options))
            if isinstance(data, Exception):
                raise data
            return Bunch(data=data, target=target)

        monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
        return calls

    return install


def text(labels):
    return np.array([str(label) for label in labels], dtype=object)


def test_gas(answer, tmp_path):
    labels = np.tile(np.arange(1, 7), 2)
    X = np.random.default_rng(0).normal(size=(12, 128))
    calls = answer(X, text(labels))
    dataset = gas.from_openml(tmp_path, class_counts=(2,) * 6)
    assert calls == [("gas-drift", {"version": 1, "data_home": tmp_path, "as_frame": False})]
    np.testing.assert_array_equal(dataset.X, X)
    np.testing.assert_array_equal(dataset.y, labels - 1)
    assert dataset.groups is None
    assert "concentration" not in dataset.extra
    assert (dataset.ood_class, dataset.minority_class) == (0, 2)


def test_mnist(answer):
    labels = np.tile(np.arange(10), 3)
    X = np.random.default_rng(0).integers(0, 256, (30, 784))
    calls = answer(X, text(labels))
    dataset = mnist.from_openml(train_counts=(2,) * 10, test_counts=(1,) * 10)
    assert calls[0][0] == "mnist_784"
    assert dataset.X.dtype == np.float32
    np.testing.assert_array_equal(dataset.X, X)
    np.testing.assert_array_equal(dataset.y, labels)
    assert dataset.split.tolist() == ["train"] * 20 + ["test"] * 10


def test_mnist_in_another_order(answer, raises):
    answer(np.zeros((30, 784)), text(np.repeat(np.arange(10), 3)))
    with raises("mnist_784", "training rows"):
        mnist.from_openml(train_counts=(2,) * 10, test_counts=(1,) * 10)


def test_shuttle(answer):
    labels = np.tile(np.arange(1, 8), 2)
    calls = answer(np.ones((14, 9)), text(labels))
    dataset = shuttle.from_openml(train_counts=(1,) * 7, test_counts=(1,) * 7)
    assert calls[0][0] == "shuttle"
    np.testing.assert_array_equal(dataset.y, labels - 1)
    assert dataset.split is None


@pytest.mark.parametrize("name", ["gas", "mnist", "shuttle"])
@pytest.mark.parametrize(
    "error",
    [URLError("no network"), TimeoutError("slow"), ValueError("no such dataset"), IncompleteRead(b"")],
)
def test_failed_download_names_the_cure(answer, raises, name, error):
    answer(error)
    with raises("OpenML", "the download failed", 'source="files"'):
        load_dataset(name, source="openml")


def test_files_never_download(answer, raises, tmp_path):
    calls = answer(AssertionError("downloaded"))
    for name in ("gas", "mnist", "shuttle"):
        with raises("not found in"):
            load_dataset(name, tmp_path)
    assert calls == []


@pytest.mark.parametrize(
    ("shape", "labels", "part"),
    [
        ((7, 8), range(1, 8), "shape (7, 8) where 9 columns are expected"),
        ((7, 9), range(7), "labels other than 1 to 7"),
        ((7, 9), range(1, 7), "where 9 columns are expected"),
        ((7, 9), range(1, 8), "58000 rows"),
        ((7, 9), ["a"] * 7, "the download failed"),
    ],
)
def test_foreign_table(answer, raises, shape, labels, part):
    answer(np.zeros(shape), text(labels))
    with raises('OpenML "shuttle" version 1', part):
        load_dataset("shuttle", source="openml")
