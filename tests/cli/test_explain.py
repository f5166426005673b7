import json

import pytest

from gditd.cli.tasks import explain
from gditd.cli.tasks.rows import parse_rows


def test_for_people(folder, run):
    output = run("explain", folder / "model.gditd", folder / "test.csv", "--rows", "1,40").stdout
    assert output.startswith("Row 1: OOD (p-value 0.0")
    assert "amount = 90, usual: " in output
    assert "Row 40: " in output


def test_json_has_the_rows_asked_for(folder, run, monkeypatch):
    monkeypatch.setattr(explain, "CHUNK_ROWS", 4)
    ask = ("explain", folder / "model.gditd", folder / "test.csv", "--json", "--rows")
    found = json.loads(run(*ask, "9,2-3").stdout)
    assert [row["row"] for row in found] == [2, 3, 9]
    assert {row["columns"][0]["column"] for row in found} == {"amount"}
    assert {row["verdict"] for row in found} == {"OOD"}


def test_all_rows_by_default(folder, run):
    found = json.loads(run("explain", folder / "model.gditd", folder / "test.csv", "--json").stdout)
    assert [row["row"] for row in found] == list(range(1, 91))


def test_only_the_rows_asked_for_need_be_readable(folder, run, fail, tmp_path):
    lines = (folder / "test.csv").read_text().splitlines()
    lines[2] = "many," + lines[2].split(",", 1)[1]
    (tmp_path / "damaged.csv").write_text("\n".join(lines) + "\n")
    run("explain", folder / "model.gditd", tmp_path / "damaged.csv", "--rows", 3)
    message = fail("explain", folder / "model.gditd", "damaged.csv", "--rows", "2-3")
    assert message == 'error: column "amount", row 2: "many" is not a number\n'


def test_there_must_be_such_rows(folder, fail):
    assert "there is no row 91" in fail("explain", folder / "model.gditd", folder / "test.csv", "--rows", "91")


def test_parse_rows():
    assert parse_rows("5, 1,3-4,3") == [1, 3, 4, 5]


@pytest.mark.parametrize("text", ["", "0", "a", "1,", "3-2", "-1", "1-999999999"])
def test_rows_that_are_none(text):
    with pytest.raises(ValueError, match="--rows"):
        parse_rows(text)
