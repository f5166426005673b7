import numpy as np
import pytest

from gditd.datasets import load_dataset, shuttle

COUNTS = {"train_counts": (4, 2, 2, 2, 2, 2, 2), "test_counts": (3, 1, 1, 1, 1, 0, 1)}


@pytest.fixture
def parts():
    rng = np.random.default_rng(0)
    made = {}
    for name, counts in zip(("shuttle.trn", "shuttle.tst"), COUNTS.values(), strict=True):
        labels = rng.permutation(np.repeat(np.arange(1, 8), counts))
        made[name] = np.column_stack([rng.integers(-500, 500, (len(labels), 9)), labels])
    return made


def write(folder, parts):
    for name, part in parts.items():
        np.savetxt(folder / name, part, fmt="%d")


def test_two_files(tmp_path, parts):
    write(tmp_path, parts)
    dataset = shuttle.from_files(tmp_path, **COUNTS)
    both = np.concatenate([parts["shuttle.trn"], parts["shuttle.tst"]])
    np.testing.assert_array_equal(dataset.X, both[:, :9])
    np.testing.assert_array_equal(dataset.y, both[:, 9] - 1)
    assert dataset.X.flags.c_contiguous
    assert dataset.split.tolist() == ["train"] * 16 + ["test"] * 8
    assert dataset.class_names[dataset.ood_class] == "High"
    assert dataset.class_names[dataset.minority_class] == "Fpv Open"
    assert dataset.class_counts()["Rad Flow"] == 7


def test_counts_are_verified_for_each_file(tmp_path, parts, raises):
    write(tmp_path, parts)
    with raises(tmp_path / "shuttle.trn", "16 rows", "43500 rows"):
        load_dataset("shuttle", tmp_path)
    write(tmp_path, {"shuttle.tst": parts["shuttle.tst"][:-1]})
    with raises(tmp_path / "shuttle.tst", "7 rows", "8 rows"):
        shuttle.from_files(tmp_path, **COUNTS)


def test_only_the_compressed_training_file(tmp_path, parts, raises):
    write(tmp_path, parts)
    (tmp_path / "shuttle.trn").rename(tmp_path / "shuttle.trn.Z")
    with raises("shuttle.trn missing", "uncompress"):
        load_dataset("shuttle", tmp_path)


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("1 2 3 4 5 6 7 8 1", "9 fields where 10 are expected"),
        ("1 2 3 4 5 6 7 8 9 0", "label 0 is not one of 1 to 7"),
        ("1 2 3 4 ? 6 7 8 9 1", "not of the expected type"),
    ],
)
def test_bad_line_is_named(tmp_path, parts, raises, line, part):
    write(tmp_path, parts)
    lines = (tmp_path / "shuttle.tst").read_text().splitlines()
    lines[2] = line
    (tmp_path / "shuttle.tst").write_text("\n".join(lines))
    with raises(tmp_path / "shuttle.tst", "line 3: ", part):
        shuttle.from_files(tmp_path, **COUNTS)
