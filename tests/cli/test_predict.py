import gzip
import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gditd
from gditd.cli.tasks import tables
from gditd.tables import iter_tables, read_table

ADDED = ["verdict", "known_class", "p_value", "ood_score"]


@pytest.fixture
def model(folder):
    return folder / "model.gditd"


def read(path):
    if path.name.endswith(".jsonl"):
        return pd.DataFrame(map(json.loads, path.read_text().splitlines()))
    return read_table(path).to_pandas()


def test_stdout_has_the_input_and_the_verdicts(folder, model, run):
    result = run("predict", model, folder / "test.csv")
    given, found = pd.read_csv(folder / "test.csv"), pd.read_csv(io.StringIO(result.stdout))
    pd.testing.assert_frame_equal(found[given.columns], given)
    assert found.columns.tolist() == [*given.columns, *ADDED]
    expected = gditd.load(model).verdict(next(iter_tables(folder / "test.csv")))
    assert found["verdict"].tolist() == expected["verdict"].tolist()
    np.testing.assert_allclose(found["ood_score"], expected["ood_score"], rtol=1e-6)
    assert (found["verdict"][:10] == "OOD").all()
    assert result.stderr.splitlines()[0].startswith("note: ignored 2 columns")
    assert result.stderr.splitlines()[1].startswith("90 rows, ")


@pytest.mark.parametrize("name", ["o.csv", "o.csv.gz", "o.parquet", "o.jsonl", "o.arrow", "o.feather"])
def test_formats_hold_the_same(folder, model, run, tmp_path, name):
    run("predict", model, folder / "test.csv", "--out", tmp_path / name, "--quiet")
    expected = pd.read_csv(io.StringIO(run("predict", model, folder / "test.csv").stdout))
    found = read(tmp_path / name)
    assert found.columns.tolist() == expected.columns.tolist()
    assert found["verdict"].tolist() == expected["verdict"].tolist()
    assert found["remark"].tolist() == expected["remark"].tolist()
    for number in ("amount", "gap", "p_value", "ood_score"):
        assert found[number].dtype.kind == "f", "numbers are numbers in every format"
        np.testing.assert_allclose(found[number], expected[number], rtol=1e-6)
    assert [path.name for path in tmp_path.iterdir()] == [name], "no temporary file is left"


def test_compressed_json_lines(folder, model, run, tmp_path):
    run("predict", model, folder / "test.csv", "--out", tmp_path / "o.jsonl.gz")
    rows = [json.loads(line) for line in gzip.decompress((tmp_path / "o.jsonl.gz").read_bytes()).splitlines()]
    assert rows[0]["verdict"] == "OOD"
    assert rows[0]["member"] in (True, False)


def test_stdin_is_csv(folder, model, run):
    text = (folder / "test.csv").read_text()
    assert run("predict", model, "-", stdin=text).stdout == run("predict", model, folder / "test.csv").stdout


def test_chunks_change_nothing(folder, model, run, monkeypatch):
    whole = run("predict", model, folder / "test.csv", "--explain", 2).stdout
    monkeypatch.setattr(tables, "CHUNK_ROWS", 7)
    assert run("predict", model, folder / "test.csv", "--explain", 2).stdout == whole


def test_quotes_only_where_needed(folder, model, run):
    lines = run("predict", model, folder / "test.csv").stdout.splitlines()
    assert lines[0] == "amount,items,region,member,day,gap,label,remark," + ",".join(ADDED)
    assert lines[1].startswith("90.0,")
    assert ',alien,"said ""no"", left",OOD,' in lines[1]


def test_a_table_without_rows(folder, model, run, tmp_path):
    empty = tmp_path / "empty.csv"
    empty.write_text((folder / "test.csv").read_text().splitlines()[0] + "\n")
    assert run("predict", model, empty).stdout.splitlines() == [
        "amount,items,region,member,day,gap,label,remark," + ",".join(ADDED)
    ]


def test_reasons_name_the_columns_of_ood_rows(folder, model, run):
    found = pd.read_csv(io.StringIO(run("predict", model, folder / "test.csv", "--explain", 1).stdout))
    flagged = found["verdict"] == "OOD"
    assert found["reason"].notna().equals(flagged)
    assert found["reason"][:10].str.contains("amount = 90, usual: ", regex=False).all()
    assert not found["reason"][flagged].str.contains(";").any()


def test_alpha(folder, model, run):
    strict = run("predict", model, folder / "test.csv", "--alpha", 0.5)
    assert strict.stdout.count(",OOD,") > run("predict", model, folder / "test.csv").stdout.count(",OOD,")
    assert (
        "nothing can be called OOD at alpha 0.001"
        in run("predict", model, folder / "test.csv", "--alpha", 0.001).stderr
    )


@pytest.fixture
def damaged(folder, tmp_path):
    """The test table with a text where row 12 has a number."""
    lines = (folder / "test.csv").read_text().splitlines()
    lines[12] = "many," + lines[12].split(",", 1)[1]
    (tmp_path / "damaged.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "damaged.csv"


@pytest.mark.parametrize("chunk_rows", [5, 100])
def test_an_error_names_the_row_of_the_file_and_writes_nothing(model, damaged, fail, monkeypatch, chunk_rows):
    monkeypatch.setattr(tables, "CHUNK_ROWS", chunk_rows)
    message = fail("predict", model, damaged, "--out", "o.csv")
    assert message == 'error: column "amount", row 12: "many" is not a number\n'


def test_an_error_leaves_the_old_file(model, damaged, tmp_path, fail):
    (tmp_path / "o.csv").write_text("old")
    fail("predict", model, damaged, "--out", "o.csv")
    assert (tmp_path / "o.csv").read_text() == "old"


def test_rows_that_cannot_be_read_can_be_ood(model, damaged, run, monkeypatch):
    monkeypatch.setattr(tables, "CHUNK_ROWS", 5)
    result = run("predict", model, damaged, "--on-error", "ood", "--explain", 2)
    found = pd.read_csv(io.StringIO(result.stdout))
    assert found["error"].dropna().to_dict() == {11: 'column "amount", row 12: "many" is not a number'}
    assert found["verdict"][11] == "OOD"
    assert found["reason"][11] == found["error"][11]
    assert "1 of them because they could not be read" in result.stderr


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("o.csv", pa.array([b"\xff\xfe"] * 90)),
        ("o.csv", pa.array([pa.MonthDayNano([1, 2, 3])] * 90)),
        ("o.parquet", pa.array([pa.MonthDayNano([1, 2, 3])] * 90)),
        ("o.parquet", pa.RunEndEncodedArray.from_arrays(pa.array([90], pa.int32()), pa.array(["x"]))),
    ],
)
def test_a_column_that_the_file_cannot_hold_is_named(folder, fail, tmp_path, name, column):
    table = read_table(folder / "test.csv").append_column("odd", column)
    with pa.ipc.new_file(tmp_path / "table.arrow", table.schema) as writer:
        writer.write_table(table)
    message = fail("predict", folder / "model.gditd", tmp_path / "table.arrow", "--out", name)
    assert 'column "odd" cannot be written (' in message
    assert "leave it out, or write to a ." in message


def test_bad_input(folder, model, fail, tmp_path):
    table = folder / "test.csv"
    assert "does not tell its format" in fail("predict", model, table, "--out", "o.xyz")
    assert "there is no folder" in fail("predict", model, table, "--out", "no/o.csv")
    assert "would replace the input" in fail("predict", model, table, "--out", table)
    assert "is not a gditd model" in fail("predict", table, table)
    assert "no such file" in fail("predict", "none.gditd", table)
    assert "between 0 and 1" in fail("predict", model, table, "--alpha", 2)
    (tmp_path / "taken.csv").write_text("amount,verdict\n1,x\n")
    assert 'already has a column "verdict"' in fail("predict", model, "taken.csv", "--out", "o.csv")
    (tmp_path / "empty.csv").write_text("")
    assert "is empty" in fail("predict", model, "empty.csv")
    (tmp_path / "few.csv").write_text("amount\n1\n")
    assert "lacks columns" in fail("predict", model, "few.csv")


def test_a_detector_gives_no_verdicts(folder, fail, tmp_path):
    from gditd.detectors import ExtraTrees

    rng = np.random.default_rng(0)
    ExtraTrees(n_estimators=3, random_state=0).fit(rng.normal(size=(20, 2)), np.repeat([0, 1], 10)).save(
        tmp_path / "forest.gditd"
    )
    assert "holds a ExtraTrees" in fail("predict", "forest.gditd", folder / "test.csv")
