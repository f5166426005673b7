"""`gditd fit` on folders of Parquet, and on Parquet larger than memory."""

import json

import pyarrow.parquet as pq
import pytest

from gditd.tables import read_table
from tests.cli.conftest import invoke


@pytest.fixture
def parts(folder, tmp_path):
    """The training table as a folder of Parquet files."""
    table = read_table(folder / "train.csv")
    (tmp_path / "parts").mkdir()
    for number in range(2):
        pq.write_table(table.slice(130 * number, 130), tmp_path / "parts" / f"{number}.parquet")
    return tmp_path / "parts"


def test_a_folder_of_parquet_files(folder, run, parts, tmp_path):
    fit = ("fit", parts, "--target", "label", "--preset", "fast", "--json", "--out")
    read = json.loads(run(*fit, tmp_path / "a.gditd").stdout)
    streamed = json.loads(run(*fit, tmp_path / "b.gditd", "--stream").stdout)
    assert (read["rows"], read["rows_learned_from"]) == (260, 260)
    assert (tmp_path / "a.gditd").read_bytes() == (tmp_path / "b.gditd").read_bytes()
    assert read["classes"] == streamed["classes"]


def test_a_sample_is_told(run, parts, tmp_path, monkeypatch):
    monkeypatch.setattr("gditd.streaming.parquet.LARGE", 5_000)
    monkeypatch.setattr("gditd.streaming.sample.LARGE", 5_000)
    fit = ("fit", parts, "--target", "label", "--preset", "fast", "--out", tmp_path / "m.gditd")
    output = run(*fit, "--report", tmp_path / "r.html").stdout
    assert " of 260 rows and 6 columns" in output
    assert (tmp_path / "r.html").exists()
    assert " of 260 rows" not in run(*fit, "--no-stream").stdout


def test_streaming_takes_parquet_only(folder, fail, parts):
    assert "--stream reads Parquet" in fail("fit", folder / "train.csv", "--target", "label", "--stream")
    assert 'no column "nope"' in fail("fit", parts, "--target", "nope", "--stream")
    assert 'no column "nope"' in fail("fit", parts, "--target", "nope")


def test_ctrl_c_in_a_pass_over_the_table(parts, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("gditd.streaming.survey.Survey.add", interrupted)
    monkeypatch.chdir(tmp_path)
    result = invoke("fit", parts, "--target", "label", "--stream", "--out", "m.gditd")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "interrupted: no file was written\n")
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]
