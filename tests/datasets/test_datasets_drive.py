import gzip
import zipfile

import numpy as np
import pytest

from gditd.datasets import drive, load_dataset

FILE = "Sensorless_drive_diagnosis.txt"
EDITIONS = ((3,) * 11, (2,) * 11)


def drive_text(per_class, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(0, 1e-3, (11 * per_class, 48))
    labels = np.repeat(np.arange(1, 12), per_class)
    lines = [" ".join(f"{v:.5g}" for v in row) + f" {label}" for row, label in zip(X, labels, strict=True)]
    return lines, X, labels


@pytest.mark.parametrize("per_class", [2, 3])
def test_both_editions(tmp_path, per_class):
    lines, X, labels = drive_text(per_class)
    (tmp_path / FILE).write_text("\n".join(lines) + "\n")
    dataset = drive.from_files(tmp_path, editions=EDITIONS)
    np.testing.assert_allclose(dataset.X, X, rtol=1e-4)
    np.testing.assert_array_equal(dataset.y, labels - 1)
    assert dataset.X.dtype == np.float64
    assert dataset.X.flags.c_contiguous
    assert dataset.X.flags.writeable
    assert (dataset.ood_class, dataset.minority_class) == (0, 1)
    assert dataset.class_names[0] == "label 1"
    assert dataset.split is None
    assert dataset.groups is None


def test_zip_and_gzip(tmp_path):
    text = "\n".join(drive_text(2)[0])
    (tmp_path / "gz").mkdir()
    (tmp_path / "gz" / f"{FILE}.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "zip").mkdir()
    with zipfile.ZipFile(tmp_path / "zip" / "dataset+for+sensorless+drive+diagnosis.zip", "w") as archive:
        archive.writestr(FILE, text)
    for kind in ("gz", "zip"):
        assert drive.from_files(tmp_path / kind, editions=EDITIONS).X.shape == (22, 48)


def test_published_counts_are_the_default(tmp_path, raises):
    (tmp_path / FILE).write_text("\n".join(drive_text(2)[0]))
    with raises(tmp_path / FILE, "22 rows", "58509 rows", "2200 rows", "truncated"):
        load_dataset("drive", tmp_path)


def test_small_edition_by_default(tmp_path):
    (tmp_path / FILE).write_text("\n".join(drive_text(200)[0]))
    assert set(load_dataset("drive", tmp_path).class_counts().values()) == {200}


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda line: line.rsplit(" ", 1)[0], "48 fields where 49 are expected"),
        (lambda line: line + " 1", "50 fields where 49 are expected"),
        (lambda line: line.replace(" ", ","), "1 fields where 49 are expected"),
        (lambda line: line.rsplit(" ", 1)[0] + " 12", "label 12 is not one of 1 to 11"),
        (lambda line: line.rsplit(" ", 1)[0] + " 1.5", "label 1.5 is not one of 1 to 11"),
        (lambda line: "1_0 " + line.split(" ", 1)[1], "not of the expected type in '1_0 "),
        (lambda line: "\xff " + line.split(" ", 1)[1], "not of the expected type"),
        (lambda line: "1e999 " + line.split(" ", 1)[1], "not finite"),
    ],
)
def test_bad_line_is_named(tmp_path, raises, change, part):
    lines = drive_text(2)[0]
    lines[16] = change(lines[16])
    (tmp_path / FILE).write_text("\n".join(lines), encoding="latin-1")
    with raises(tmp_path / FILE, "line 17: ", part):
        drive.from_files(tmp_path, editions=EDITIONS)


def test_first_of_two_bad_lines_is_named(tmp_path, raises):
    lines = drive_text(2)[0]
    for row in (6, 20):
        lines[row] = "x" + lines[row]
    (tmp_path / FILE).write_text("\n\n".join(lines))
    with raises("line 13: "):
        drive.from_files(tmp_path, editions=EDITIONS)
