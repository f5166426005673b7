import gzip
import struct

import numpy as np
import pytest

from gditd.datasets import load_dataset, mnist

NAMES = {
    ("train", "images"): "train-images-idx3-ubyte",
    ("train", "labels"): "train-labels-idx1-ubyte",
    ("test", "images"): "t10k-images-idx3-ubyte",
    ("test", "labels"): "t10k-labels-idx1-ubyte",
}
COUNTS = {"train_counts": (3,) * 10, "test_counts": (1,) * 10}


def idx(array, kind=8):
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, kind, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    parts = {}
    for part, per_class in (("train", 3), ("test", 1)):
        parts[part, "labels"] = rng.permutation(np.repeat(np.arange(10), per_class))
        parts[part, "images"] = rng.integers(0, 256, (10 * per_class, 28, 28))
    return parts


def write(folder, arrays, suffix=".gz"):
    folder.mkdir(parents=True, exist_ok=True)
    for key, array in arrays.items():
        content = idx(array)
        (folder / (NAMES[key] + suffix)).write_bytes(gzip.compress(content) if suffix else content)


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("sub", ["", "MNIST/raw"])
def test_four_files(tmp_path, arrays, suffix, sub):
    write(tmp_path / sub, arrays, suffix)
    dataset = mnist.from_files(tmp_path, **COUNTS)
    images = np.concatenate([arrays["train", "images"], arrays["test", "images"]])
    np.testing.assert_array_equal(dataset.X, images.reshape(40, 784))
    assert dataset.X.dtype == np.float32
    assert dataset.X.flags.writeable
    np.testing.assert_array_equal(dataset.y, np.concatenate([arrays["train", "labels"], arrays["test", "labels"]]))
    assert dataset.y.dtype == np.int64
    assert dataset.split.tolist() == ["train"] * 30 + ["test"] * 10
    assert (dataset.ood_class, dataset.minority_class) == (0, 1)


def test_one_file_missing(tmp_path, arrays, raises):
    write(tmp_path, arrays)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").unlink()
    with raises("t10k-labels-idx1-ubyte missing in", tmp_path):
        load_dataset("mnist", tmp_path)


@pytest.mark.parametrize("damage", [lambda c: c[: len(c) // 2], lambda c: b"<html>", lambda c: b""])
def test_bad_gzip(tmp_path, arrays, raises, damage):
    write(tmp_path, arrays)
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(damage(path.read_bytes()))
    with raises(path):
        mnist.from_files(tmp_path, **COUNTS)


def test_damaged_gzip(tmp_path, arrays, raises):
    write(tmp_path, arrays)
    path = tmp_path / "train-images-idx3-ubyte.gz"
    content = bytearray(path.read_bytes())
    content[-8:-4] = bytes(4)
    path.write_bytes(content)
    with raises(path, "cannot be read", "download it again"):
        mnist.from_files(tmp_path, **COUNTS)


@pytest.mark.parametrize(
    ("key", "content", "part"),
    [
        (("train", "images"), idx(np.zeros(30)), "starts with 00000801 where the IDX mark 00000803"),
        (("train", "labels"), idx(np.zeros((30, 28, 28))), "starts with 00000803"),
        (("train", "labels"), idx(np.zeros(30), kind=13), "starts with 00000d01"),
        (("train", "images"), gzip.compress(b"", mtime=0), "still compressed"),
        (("train", "images"), b"", "starts with nothing"),
        (("train", "images"), idx(np.zeros((30, 28, 28)))[:10], "header is truncated"),
        (
            ("train", "images"),
            idx(np.zeros((30, 28, 28)))[:-1],
            "23535 bytes where its header promises 23536",
        ),
        (("train", "images"), idx(np.zeros((30, 28, 28))) + b"x", "23537 bytes where"),
        (("train", "images"), b"\0\0\x08\x03" + b"\xff" * 12, "bytes where its header promises"),
        (("train", "images"), idx(np.zeros((30, 27, 28))), "images of 27 x 28"),
        (("train", "labels"), idx(np.zeros(29)), "29 labels for 30 images"),
        (("train", "labels"), idx(np.full(30, 10)), "label 10 is not one of 0 to 9"),
        (("test", "labels"), idx(np.zeros(10)), "10 rows (10 0 0 0 0 0 0 0 0 0 by class)"),
    ],
)
def test_foreign_or_truncated_idx(tmp_path, arrays, raises, *, key, content, part):
    write(tmp_path, arrays, suffix="")
    path = tmp_path / NAMES[key]
    path.write_bytes(content)
    with raises(path, part):
        mnist.from_files(tmp_path, **COUNTS)


def test_published_counts_are_the_default(tmp_path, arrays, raises):
    write(tmp_path, arrays)
    with raises("train-labels-idx1-ubyte", "30 rows", "60000 rows"):
        load_dataset("mnist", tmp_path)
