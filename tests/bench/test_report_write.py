import re
import sys

import numpy as np
import pytest

from gditd.bench.report import write_paper_report, write_report
from tests.bench.report_results import own_results, paper_results
from tests.bench.test_report_formats import Strict

CONTEXT = {"command": "gditd bench <gas> & more", "seed": "0"}
TABLES = ["significance.md", "table3.md", "table3.tex", "table4.md", "table4.tex"]


def check_page(path):
    text = path.read_text(encoding="utf-8")
    parsed = Strict(text)
    sources = [value for _, attrs in parsed.elements for name, value in attrs.items() if name in ("src", "href")]
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert not re.search(r"https?://|@import|url\(", text)
    assert "script" not in {tag for tag, _ in parsed.elements}
    assert all(attrs.get("alt") for tag, attrs in parsed.elements if tag == "img")
    return text


@pytest.fixture
def without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)


def test_paper_report(tmp_path):
    pytest.importorskip("matplotlib")
    points = np.random.default_rng(0).normal(size=(20, 2))
    embeddings = {"gditd-paper": (points, np.repeat([0, 1], 10), 0)}
    written = write_paper_report(
        paper_results(datasets=["gas"]), tmp_path / "new" / "folder", context=CONTEXT, embeddings=embeddings
    )
    pictures = [f"{name}.{end}" for name in ("critical-difference", "embeddings", "mdsr-gas") for end in ("png", "svg")]
    assert sorted(path.name for path in written) == sorted([*pictures, "report.html", *TABLES])
    assert sorted(written) == sorted((tmp_path / "new" / "folder").iterdir())  # and nothing else is left behind
    page = check_page(tmp_path / "new" / "folder" / "report.html")
    assert page.count("<img ") == 3
    assert "gditd bench &lt;gas&gt; &amp; more" in page
    assert "Missing: disputes (no results)." in page
    assert "97.09 ± 1.00 (97.59, \N{MINUS SIGN}0.50)" in page
    assert "97.09 ± 1.00 (97.59, \N{MINUS SIGN}0.50)" in (tmp_path / "new" / "folder" / "table3.md").read_text("utf-8")
    assert r"97.09 $\pm$ 1.00 (97.59, $-$0.50)" in (tmp_path / "new" / "folder" / "table3.tex").read_text("utf-8")


@pytest.mark.usefixtures("without_matplotlib")
@pytest.mark.parametrize("rows", [0, 1, 7, 400])
def test_unfinished_runs_are_reported(tmp_path, rows):
    results = paper_results().iloc[:rows]
    write_paper_report(results, tmp_path, context=CONTEXT)
    text = check_page(tmp_path / "report.html")
    assert "Missing: mnist (no results)." in text
    assert "nan" not in (tmp_path / "table3.md").read_text("utf-8").lower()
    write_report(results, tmp_path, context={})
    check_page(tmp_path / "report.html")


@pytest.mark.usefixtures("without_matplotlib")
def test_without_matplotlib_the_rest_is_there(tmp_path):
    written = write_paper_report(paper_results(datasets=["gas"]), tmp_path, context={})
    assert sorted(path.name for path in written) == ["report.html", *TABLES]
    assert "No picture here: figures need matplotlib: pip install" in check_page(tmp_path / "report.html")


def test_report_of_an_own_table(tmp_path):
    pytest.importorskip("matplotlib")
    names = [path.name for path in write_report(own_results(), tmp_path, context=CONTEXT)]
    assert {"results.md", "report.html", "mdsr-my_table.svg", "critical-difference.png"} <= set(names)
    text = (tmp_path / "results.md").read_text("utf-8")
    assert "| gditd | **95.00 ± 1.00** |" in text
    assert "### gditd against each method" in text
    check_page(tmp_path / "report.html")


def test_report_with_one_cell_says_that_nothing_can_be_tested(tmp_path):
    write_report(own_results(mdsrs=[1.0]), tmp_path, context={})
    text = (tmp_path / "results.md").read_text("utf-8")
    assert "No test of differences: the methods share fewer than 2 cells." in text
    assert "![" not in text


def test_report_without_results(tmp_path):
    write_report(own_results().iloc[:0], tmp_path, context={})
    assert "There are no results yet." in (tmp_path / "results.md").read_text("utf-8")


def test_methods_and_tables_with_awkward_names(tmp_path):
    results = own_results(dataset="a_b & <c>|d").replace({"method": {"extra-trees": "trees_100%|x"}})
    write_report(results, tmp_path, context={})
    check_page(tmp_path / "report.html")
    assert r"trees_100%\|x" in (tmp_path / "results.md").read_text("utf-8")
