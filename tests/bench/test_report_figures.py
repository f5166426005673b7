import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from gditd.bench.report.figures import canvas, embedding_picture, mdsr_picture, project, rank_picture, sample_rows
from gditd.bench.report.figures.ranks import cliques
from gditd.bench.report.significance import ranks_by_metric
from gditd.bench.report.statistics import Ranks
from tests.bench.report_results import own_results, paper_results

METHODS = ["gditd", "extra-trees", "isolation-forest"]


def check(picture):
    assert ElementTree.fromstring(picture.svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert picture.png.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(picture.png) > 5000


def test_mdsr_picture_with_and_without_the_paper():
    pytest.importorskip("matplotlib")
    drawn = mdsr_picture(paper_results(datasets=["gas"]), "gas", ["softmax", "gditd-paper"], with_paper=True)
    check(drawn)
    assert drawn.name == "mdsr-gas"
    check(mdsr_picture(own_results(dataset="a/b |c"), "a/b |c", METHODS))


def test_a_picture_is_the_same_every_time(tmp_path):
    pytest.importorskip("matplotlib")
    first, second = (mdsr_picture(own_results(), "my_table", METHODS) for _ in range(2))
    assert first == second
    assert [path.name for path in first.write(tmp_path)] == ["mdsr-my_table.svg", "mdsr-my_table.png"]


def test_one_mdsr_makes_no_curve():
    assert mdsr_picture(own_results(mdsrs=[1.0]), "my_table", METHODS) is None


def test_rank_picture():
    pytest.importorskip("matplotlib")
    check(rank_picture(ranks_by_metric(own_results(), METHODS)))
    assert rank_picture({"ood_auroc": Ranks({}, 1, reason="too little")}) is None


@pytest.mark.parametrize(
    "ranks, distance, joined",
    [
        ([1.0, 1.5, 3.0], 1.0, [(1.0, 1.5)]),
        ([1.0, 1.5, 2.2, 4.0], 1.0, [(1.0, 1.5), (1.5, 2.2)]),
        ([1.0, 1.2, 1.4], 1.0, [(1.0, 1.4)]),
        ([1.0, 2.0], 1.0, []),
        ([1.5, 1.5], 1.0, [(1.5, 1.5)]),
    ],
)
def test_bars_join_methods_that_do_not_differ(ranks, distance, joined):
    assert cliques({str(place): rank for place, rank in enumerate(ranks)}, distance) == joined


def test_embedding_picture():
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 5)
    panels = {name: (rng.normal(size=(60, 2)), labels, 0) for name in ("Deep-MCDD", "gditd-paper")}
    check(embedding_picture(panels))


def test_project():
    assert project(np.random.default_rng(0).normal(size=(30, 4)), seed=1).shape == (30, 2)
    for rows in (2, 3001):
        with pytest.raises(ValueError, match="5 to 3000 rows"):
            project(np.zeros((rows, 4)))


def test_sampled_rows():
    assert sample_rows(5).tolist() == [0, 1, 2, 3, 4]
    rows = sample_rows(100, seed=1, most=30)
    assert len(np.unique(rows)) == 30
    assert (np.diff(rows) > 0).all()
    assert (rows == sample_rows(100, seed=1, most=30)).all()


def test_every_series_has_a_look_of_its_own():
    names = [str(place) for place in range(40)]
    assert len(set(canvas.styles(names).values())) == 40
    assert canvas.styles(names, highlighted="3")["3"] == canvas.Style(canvas.RED, "o")


def test_without_matplotlib_the_error_names_the_cure(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(canvas.PlottingMissingError, match=r"pip install 'gditd\[plot\]'"):
        canvas.new_figure(1, 1)


def test_importing_the_report_is_light():
    # An empty parent, for gditd.bench brings the runner along, and that needs torch.
    code = """if True:
        import sys, types, gditd
        parent = sys.modules["gditd.bench"] = types.ModuleType("gditd.bench")
        parent.__path__ = [gditd.__path__[0] + "/bench"]
        import gditd.bench.report
        print({"torch", "matplotlib"} & set(sys.modules))
    """
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"
