"""The python blocks of docs/spark.md run, in the Spark that the other tests use."""

from pathlib import Path

import pytest

from tests.test_docs import BLOCK, run_page

pytest.importorskip("pyspark", reason="needs pyspark: pip install 'gditd[spark]'")

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.filterwarnings("ignore")]

PAGE = Path(__file__).parents[3] / "docs" / "spark.md"


def test_the_page_runs(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = BLOCK.sub(lambda block: block[0].removeprefix(block["not_run"] or ""), PAGE.read_text(encoding="utf-8"))
    run_page("docs/spark.md", text)
    assert (tmp_path / "data" / "verdicts" / "_SUCCESS").is_file()
