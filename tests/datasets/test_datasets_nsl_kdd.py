import zipfile

import numpy as np
import pandas as pd
import pytest

from gditd.datasets import load_dataset, nsl_kdd

TRAIN_ATTACKS = ("normal", "neptune", "nmap", "warezclient", "rootkit", "normal")
TEST_ATTACKS = ("mailbomb", "saint", "worm", "httptunnel", "normal")
COUNTS = {"train_counts": (2, 1, 1, 1, 1), "test_counts": (1, 1, 1, 1, 1)}


def kdd_line(attack, *, duration=0, service="http", rate="0.25", difficulty=20):
    whole = [0] * 18
    rates = [rate] * 7
    host_rates = [rate] * 8
    fields = [duration, "tcp", service, "SF", *whole, 5, 6, *rates, 7, 8, *host_rates, attack, difficulty]
    return ",".join(str(field) for field in fields)


@pytest.fixture
def files():
    return {
        "KDDTrain+.txt": [kdd_line(a, duration=i) for i, a in enumerate(TRAIN_ATTACKS)],
        "KDDTest+.txt": [kdd_line(a, service="NA", difficulty=3) for a in TEST_ATTACKS],
    }


def write_folder(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n")


def check(dataset):
    X = dataset.X
    assert isinstance(X, pd.DataFrame)
    assert X.shape == (11, 41)
    assert tuple(X.columns) == dataset.feature_names
    assert X.index.tolist() == list(range(11))
    for column in ("protocol_type", "service", "flag"):
        assert pd.api.types.is_string_dtype(X[column])
    assert X["service"].tolist() == ["http"] * 6 + ["NA"] * 5
    rates = [column for column in X if str(column).endswith("_rate")]
    assert len(rates) == 15
    assert (X[rates].dtypes == np.float64).all()
    assert (X[rates] == 0.25).all(axis=None)
    whole = X.drop(columns=[*rates, "protocol_type", "service", "flag"])
    assert (whole.dtypes == np.int64).all()
    assert X["duration"].tolist()[:6] == list(range(6))
    assert X.loc[0, ["count", "srv_count", "dst_host_count", "dst_host_srv_count"]].tolist() == [5, 6, 7, 8]
    families = ["normal", "dos", "probe", "r2l", "u2r", "normal", "dos", "probe", "r2l", "u2r", "normal"]
    assert dataset.y.tolist() == families
    assert dataset.y.dtype.kind == "U"
    assert dataset.extra["attack"].tolist() == [*TRAIN_ATTACKS, *TEST_ATTACKS]
    assert dataset.extra["difficulty"].tolist() == [20] * 6 + [3] * 5
    assert dataset.split.tolist() == ["train"] * 6 + ["test"] * 5
    assert (dataset.ood_class, dataset.minority_class) == ("probe", "u2r")


@pytest.mark.parametrize("name", ["nsl-kdd.zip", "NSL-KDD.zip", "NSL_KDD-master.zip"])
def test_zip(tmp_path, files, name):
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        for member, lines in files.items():
            archive.writestr("NSL_KDD/" + member, "\n".join(lines))
        archive.writestr("NSL_KDD/KDDTest-21.txt", "not read")
    check(nsl_kdd.from_files(tmp_path, **COUNTS))


@pytest.mark.parametrize("sub", ["", "nsl-kdd"])
def test_unpacked(tmp_path, files, sub):
    write_folder(tmp_path / sub, files)
    check(nsl_kdd.from_files(tmp_path, **COUNTS))


def test_families_hold_39_attacks_once_each():
    attacks = [attack for family in nsl_kdd.FAMILIES.values() for attack in family]
    assert len(attacks) == len(set(attacks)) == 40
    assert len(nsl_kdd.FEATURE_NAMES) == len(set(nsl_kdd.FEATURE_NAMES)) == 41


@pytest.mark.parametrize(
    ("line", "part"),
    [
        (kdd_line("normal").rsplit(",", 1)[0], "42 fields where 43 are expected"),
        (kdd_line("normal") + ",1", "44 fields where 43 are expected"),
        (kdd_line("normal").replace(",", " "), "1 fields where 43 are expected"),
        (kdd_line("normal."), "unknown attack 'normal.'"),
        (kdd_line("normal", duration="long"), "not of the expected type in 'long,tcp,http"),
        (kdd_line("normal", duration="9" * 30), "not of the expected type"),
        (kdd_line("normal", duration=0.5), "not of the expected type"),
        (kdd_line("normal", duration=""), "not of the expected type"),
        (kdd_line("normal", rate="high"), "not of the expected type"),
        (kdd_line("normal", service="\xff"), "not of the expected type"),
    ],
)
def test_bad_line_is_named(tmp_path, files, raises, line, part):
    write_folder(tmp_path, files)
    files["KDDTrain+.txt"][4] = line
    (tmp_path / "KDDTrain+.txt").write_text("\n".join(files["KDDTrain+.txt"]), encoding="latin-1")
    with raises(tmp_path / "KDDTrain+.txt", "line 5: ", part):
        nsl_kdd.from_files(tmp_path, **COUNTS)


def test_counts_are_verified(tmp_path, files, raises):
    write_folder(tmp_path, files)
    with raises("KDDTrain+.txt", "6 rows (2 1 1 1 1 by class)", "125973 rows"):
        load_dataset("nsl-kdd", tmp_path)
    del files["KDDTest+.txt"][0]
    write_folder(tmp_path, files)
    with raises("KDDTest+.txt", "4 rows (1 0 1 1 1 by class)", "5 rows"):
        nsl_kdd.from_files(tmp_path, **COUNTS)
