"""Where pyspark or Java is missing, one line says how to get it."""

import importlib.util

import pytest

import gditd.integrations.spark
from gditd.integrations.spark import requirements
from gditd.integrations.spark.session import reason
from tests.cli.conftest import invoke


@pytest.fixture
def without_pyspark(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "pyspark" else find(name))


def test_python_says_how_to_get_pyspark(without_pyspark, monkeypatch):
    monkeypatch.delitem(vars(gditd.integrations.spark), "score", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'gditd\[spark\]'"):
        from gditd.integrations.spark import score  # noqa: F401
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        gditd.integrations.spark.scores  # noqa: B018


def test_the_command_line_says_how_to_get_pyspark(without_pyspark, tmp_path):
    result = invoke("predict", "m.gditd", "new.parquet", "--engine", "spark", "--out", tmp_path / "out")
    assert (result.exit_code, result.stderr) == (2, f"error: {requirements.PYSPARK}\n")


def test_the_command_line_says_how_to_get_java(monkeypatch, tmp_path):
    monkeypatch.setattr(requirements, "refuse_missing_pyspark", lambda: None)
    monkeypatch.setattr("gditd.cli.tasks.predict_spark.refuse_missing_pyspark", lambda: None)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    result = invoke("predict", "m.gditd", "new.parquet", "--engine", "spark", "--out", tmp_path / "out")
    assert (result.exit_code, result.stderr) == (2, f"error: {requirements.JAVA}\n")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not requirements.has_java()


def test_the_reason_why_spark_does_not_start():
    assert reason("a\nERROR Backend: It was killed. Reason: All masters gone!\n", "x") == "All masters gone!"
    assert reason("Exception: \nspark.SparkException: No such master.\n  at x", "y") == "No such master"
    assert reason("", "Java exited") == "Java exited"
    assert reason("", "") == "it does not say why"
