import zipfile

import numpy as np
import pytest

from gditd.datasets import gas, load_dataset

ROWS = tuple(range(1, 11))


def gas_line(label, values, ppm=None):
    head = f"{label}" if ppm is None else f"{label};{ppm:.6f}"
    return head + " " + " ".join(f"{key}:{value:.6f}" for key, value in enumerate(values, start=1)) + " "


@pytest.fixture
def table():
    """Values, labels and concentrations of ten batches; even batches carry no concentration."""
    rng = np.random.default_rng(0)
    n = sum(ROWS)
    batch = np.repeat(np.arange(1, 11), ROWS)
    ppm = np.where(batch % 2, rng.uniform(1, 500, n).round(6), np.nan)
    return rng.normal(0, 1e4, (n, 128)).round(6), rng.integers(1, 7, n), ppm, batch


@pytest.fixture
def files(table):
    """The text of each batch file."""
    X, labels, ppm, batch = table
    lines = [gas_line(label, row, None if np.isnan(p) else p) for row, label, p in zip(X, labels, ppm, strict=True)]
    return {
        f"batch{b}.dat": "\n".join(line for line, of in zip(lines, batch, strict=True) if of == b) + "\n"
        for b in range(1, 11)
    }


@pytest.fixture
def counts(table):
    return {"class_counts": np.bincount(table[1], minlength=7)[1:].tolist(), "batch_rows": ROWS}


def write_folder(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def write_zip(path, files, prefix=""):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(prefix + name, text)


def check(dataset, table):
    X, labels, ppm, batch = table
    np.testing.assert_allclose(dataset.X, X, rtol=1e-15)
    assert dataset.X.dtype == np.float64
    assert dataset.X.flags.c_contiguous
    assert dataset.X.flags.writeable
    np.testing.assert_array_equal(dataset.y, labels - 1)
    np.testing.assert_array_equal(dataset.groups, batch)
    np.testing.assert_array_equal(dataset.extra["concentration"], ppm)


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("gas-sensor-array-drift.zip", ""),
        ("gas-sensor-array-drift.zip", "Dataset/"),
        ("gas+sensor+array+drift+dataset.zip", "Dataset/"),
        ("Dataset.zip", "Dataset/"),
    ],
)
def test_zip_as_downloaded(tmp_path, files, table, counts, *, name, prefix):
    write_zip(tmp_path / name, files, prefix)
    dataset = gas.from_files(tmp_path, **counts)
    check(dataset, table)
    assert (dataset.ood_class, dataset.minority_class) == (0, 2)
    assert dataset.feature_names[:2] == ("DR_1", "|DR|_1")
    assert dataset.feature_names[-1] == "EMAd0.1_16"
    assert dataset.split is None


@pytest.mark.parametrize("sub", ["", "Dataset", "gas-sensor-array-drift/Dataset"])
def test_unpacked_folder(tmp_path, files, table, counts, sub):
    write_folder(tmp_path / sub, files)
    check(gas.from_files(tmp_path, **counts), table)


def test_both_line_formats_in_one_file_windows_ends_and_blank_lines(tmp_path, files, table, counts):
    lines = files["batch4.dat"].splitlines()
    label, _, rest = lines[1].partition(" ")
    lines[1] = f"{label};12.500000 {rest}"
    write_folder(tmp_path, files)
    (tmp_path / "batch4.dat").write_bytes("\r\n\r\n".join(lines).encode() + b"\r\n\r\n")
    X, labels, ppm, batch = table
    ppm = ppm.copy()
    ppm[np.flatnonzero(batch == 4)[1]] = 12.5
    check(gas.from_files(tmp_path, **counts), (X, labels, ppm, batch))


def test_unpacked_files_go_before_a_foreign_zip(tmp_path, files, table, counts):
    write_folder(tmp_path, files)
    write_zip(tmp_path / "Dataset.zip", {"other.csv": "1,2\n"})
    check(gas.from_files(tmp_path, **counts), table)


def test_foreign_zip(tmp_path, raises):
    write_zip(tmp_path / "Dataset.zip", {"other.csv": "1,2\n"})
    with raises(tmp_path / "Dataset.zip", "holds no batch1.dat"):
        load_dataset("gas", tmp_path)


def test_shallowest_copy_in_a_zip_wins(tmp_path, files, table, counts):
    path = tmp_path / "gas-sensor-array-drift.zip"
    write_zip(path, {**{f"a/b/{name}": "old" for name in files}, **{f"z/{n}": t for n, t in files.items()}})
    check(gas.from_files(tmp_path, **counts), table)


def test_one_batch_missing(tmp_path, files, raises):
    del files["batch3.dat"]
    write_folder(tmp_path, files)
    with raises("batch3.dat missing in", tmp_path, "Download"):
        load_dataset("gas", tmp_path)


def test_not_a_zip(tmp_path, raises):
    path = tmp_path / "gas-sensor-array-drift.zip"
    path.write_bytes(b"<html>not found</html>")
    with raises(path, "not a readable zip file", "download it again"):
        load_dataset("gas", tmp_path)


@pytest.mark.parametrize("part", [0.5, 0.95])
def test_truncated_zip(tmp_path, files, raises, part):
    path = tmp_path / "gas-sensor-array-drift.zip"
    write_zip(path, files)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    with raises(path, "not a readable zip file"):
        load_dataset("gas", tmp_path)


def test_damaged_zip_member(tmp_path, files, raises):
    path = tmp_path / "gas-sensor-array-drift.zip"
    write_zip(path, files)
    content = bytearray(path.read_bytes())
    content[200:260] = bytes(60)
    path.write_bytes(content)
    with raises(path, "not a readable zip file"):
        load_dataset("gas", tmp_path)


def replace_line(text, line, change):
    lines = text.splitlines()
    lines[line - 1] = change(lines[line - 1])
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda line: line.rsplit(" ", 2)[0], "127 fields where 128 are expected"),
        (lambda line: line + "129:1.0", "129 fields where 128 are expected"),
        (lambda line: line[:60], "fields where 128 are expected"),
        (lambda line: line.replace(" 7:", " 8:"), "not numbered 1: to 128:"),
        (lambda line: line.replace(" 7:", " 7:x"), "not of the expected type"),
        (lambda line: line.replace(" 7:", " 7: 1 "), "257 fields where 256 are expected"),
        (lambda line: "7" + line[1:], "label 7 is not one of 1 to 6"),
        (lambda line: "0" + line[1:], "label 0 is not one of 1 to 6"),
        (lambda line: "9" * 400 + line[1:], "does not start with `label`"),
        (lambda line: "a" + line[1:], "does not start with `label`"),
        (lambda line: line[0] + ";much" + line[line.index(" ") :], "does not start with `label`"),
    ],
)
@pytest.mark.parametrize("line", [1, 5, 9])
def test_bad_line_is_named(tmp_path, files, counts, raises, *, change, part, line):
    files["batch9.dat"] = replace_line(files["batch9.dat"], line, change)
    write_folder(tmp_path, files)
    with raises(tmp_path / "batch9.dat", f"line {line}: ", part):
        gas.from_files(tmp_path, **counts)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_value_that_is_not_finite(tmp_path, files, counts, raises, value):
    def change(line):
        fields = line.split()
        fields[7] = f"7:{value}"
        return " ".join(fields)

    files["batch9.dat"] = replace_line(files["batch9.dat"], 4, change)
    write_folder(tmp_path, files)
    with raises("batch9.dat, line 4: "):
        gas.from_files(tmp_path, **counts)


def test_bad_line_in_a_zip_names_zip_member_and_line(tmp_path, files, counts, raises):
    files["batch2.dat"] = replace_line(files["batch2.dat"], 2, lambda line: line[:40])
    path = tmp_path / "gas-sensor-array-drift.zip"
    write_zip(path, files, "Dataset/")
    with raises(path, "Dataset/batch2.dat, line 2: "):
        gas.from_files(tmp_path, **counts)


def test_binary_file(tmp_path, files, counts, raises):
    write_folder(tmp_path, files)
    (tmp_path / "batch5.dat").write_bytes(b"\x89PNG\x00\xff\xfe\n\x00\x01")
    with raises("batch5.dat, line 1: "):
        gas.from_files(tmp_path, **counts)


def test_empty_file(tmp_path, files, counts, raises):
    write_folder(tmp_path, {**files, "batch5.dat": "\n \n"})
    with raises("batch5.dat", "the file is empty"):
        gas.from_files(tmp_path, **counts)


def test_batch_cut_between_lines(tmp_path, files, counts, raises):
    files["batch8.dat"] = "\n".join(files["batch8.dat"].splitlines()[:5])
    write_folder(tmp_path, files)
    with raises("batch8.dat: 5 rows where 8 are expected", "truncated"):
        gas.from_files(tmp_path, **counts)


def test_class_counts_are_verified(tmp_path, files, counts, raises):
    write_folder(tmp_path, files)
    wrong = [*counts["class_counts"]]
    wrong[0] += 1
    with raises("gas", "55 rows", "56 rows", "by class"):
        gas.from_files(tmp_path, class_counts=wrong, batch_rows=ROWS)


def test_default_counts_are_the_published_ones(tmp_path, files, raises):
    write_folder(tmp_path, files)
    with raises("batch1.dat: 1 rows where 445 are expected"):
        load_dataset("gas", tmp_path)
