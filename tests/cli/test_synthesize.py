import json

import pandas as pd
import pytest

from gditd.tables import read_table


@pytest.fixture
def release(folder, tmp_path):
    return "synthesize", folder / "train.csv", "--target", "label", "--out", tmp_path / "o.csv"


def test_says_what_the_release_gives_away(folder, release, run, tmp_path):
    output = " ".join(run(*release).stdout.split())
    assert "Released 260 mixtures of 260 rows, 7 columns" in output
    assert "distance to the nearest real row" in output
    assert "Exact copies of real rows: 0." in output
    assert "A forest trained on 130 real rows gets" in output
    assert "not differential privacy" in output
    given, made = pd.read_csv(folder / "train.csv"), pd.read_csv(tmp_path / "o.csv")
    assert made.dtypes.to_dict() == given.dtypes.to_dict()
    assert made.columns.tolist() == given.columns.tolist()
    assert len(made.merge(given)) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["o.csv"]


def test_json_is_one_document(release, run, tmp_path):
    result = run(*release, "--json", "--rows", 90, "--neighbours", 8, "--seed", 3, "--ignore", "gap")
    document = json.loads(result.stdout)
    assert result.stderr == ""
    assert (document["table"], document["rows_real"], document["rows_released"]) == (str(tmp_path / "o.csv"), 260, 90)
    assert (document["neighbours"], document["seed"], document["notes"]) == (8, 3, [])
    assert "gap" not in document["columns"]
    assert document["privacy"]["exact_copies"] == 0
    assert set(document["privacy"]["released_to_real"]) == {"percentile_1", "percentile_5", "median"}
    assert 0 <= document["privacy"]["closer_share"] <= 1
    assert 0.5 < document["utility"]["accuracy_synthetic"] <= 1


def test_no_check_and_quiet(release, run, tmp_path):
    run(*release)
    checked = (tmp_path / "o.csv").read_bytes()
    document = json.loads(run(*release, "--no-check", "--json").stdout)
    assert (document["privacy"], document["utility"]) == (None, None)
    assert (tmp_path / "o.csv").read_bytes() == checked, "checking does not change the rows"
    assert "Exact copies" not in run(*release, "--no-check").stdout
    quiet = run(*release, "--quiet")
    assert (quiet.stdout, quiet.stderr) == ("", "")


@pytest.mark.parametrize("name", ["o.csv.gz", "o.parquet", "o.jsonl", "o.feather"])
def test_formats_hold_the_same(folder, release, run, tmp_path, name):
    run(*release, "--no-check")
    run(*release[:-1], tmp_path / name, "--no-check")
    expected, found = (read_table(tmp_path / file).to_pandas() for file in ("o.csv", name))
    assert found.columns.tolist() == expected.columns.tolist()
    assert found["label"].tolist() == expected["label"].tolist()
    assert found["items"].tolist() == expected["items"].tolist()
    assert found["amount"].tolist() == pytest.approx(expected["amount"].tolist())


def test_notes_are_shown(folder, run, tmp_path):
    table = pd.read_csv(folder / "train.csv")
    table["city"] = ["Rareville"] * 2 + ["Ulm"] * 258
    table.to_csv(tmp_path / "rare.csv", index=False)
    result = run("synthesize", tmp_path / "rare.csv", "--target", "label", "--out", tmp_path / "o.csv", "--no-check")
    assert 'note: column "city": 1 of its values occur in fewer than 5 rows' in result.stdout
    assert "Rareville" not in (tmp_path / "o.csv").read_text()


def test_bad_input(folder, fail, tmp_path):
    train = folder / "train.csv"
    wanted = ("synthesize", train, "--target", "label", "--out")
    assert 'no column "nope"' in fail("synthesize", train, "--target", "nope", "--out", "o.csv")
    assert 'no column "nope"' in fail(*wanted, "o.csv", "--ignore", "nope")
    assert "both target and ignored" in fail(*wanted, "o.csv", "--ignore", "label")
    assert "does not tell its format" in fail(*wanted, "o.xyz")
    assert "there is no folder" in fail(*wanted, "no/o.csv")
    (tmp_path / "folder.csv").mkdir()
    assert "is a folder" in fail(*wanted, "folder.csv")
    assert "would replace the input" in fail(*wanted, train)
    assert "no file" in fail("synthesize", "none.csv", "--target", "label", "--out", "o.csv")
    assert "2 rows are too few for 3 classes" in fail(*wanted, "o.csv", "--rows", 2)
    assert "--neighbours" in fail(*wanted, "o.csv", "--neighbours", 1)
    assert "--out" in fail("synthesize", train, "--target", "label")


def test_an_identifier_is_refused_and_the_old_file_stays(folder, fail, tmp_path):
    table = pd.read_csv(folder / "train.csv")
    table.assign(name=[f"person {row}" for row in range(len(table))]).to_csv(tmp_path / "named.csv", index=False)
    (tmp_path / "o.csv").write_text("old")
    message = fail("synthesize", "named.csv", "--target", "label", "--out", "o.csv")
    assert 'column "name" holds 260 different texts' in message
    assert "--ignore name" in message
    assert (tmp_path / "o.csv").read_text() == "old"
