"""The paper's experiments, and a short form of them on a real table."""

import os

import pytest

from gditd.bench import BenchError
from gditd.bench.embeddings import METHODS, paper_embeddings
from gditd.bench.methods import ABLATION, READINGS, method
from gditd.bench.paper import PAPER_METHODS, paper_experiments
from tests.cli.conftest import invoke


def test_the_paper_has_two_tables_and_we_have_our_readings():
    experiments = paper_experiments()
    main = {e.dataset: e for e in experiments if set(e.methods) == set(PAPER_METHODS)}
    assert list(main) == ["gas", "drive", "mnist", "disputes"]
    assert {len(e.mdsr) for name, e in main.items() if name != "disputes"} == {6}
    assert main["disputes"].mdsr == (1.0, 0.3, 0.25)
    assert {e.epochs for e in experiments} == {100}
    rest = {e.dataset: set(e.methods) for e in experiments if e not in main.values()}
    assert rest == {"gas": {*ABLATION, *READINGS}, "drive": set(READINGS), "mnist": {"gditd-early-stopping"}}


def test_arms_of_the_ablation_switch_one_loss_on_or_off():
    weights = ("pull_weight", "score_weight", "efl1_weight", "efl2_weight")
    only = method("gditd-only-score").make(0, 1)
    assert [getattr(only, name) for name in weights] == [0, 1, 0, 0]
    without = method("gditd-without-efl2").make(0, 1)
    assert [getattr(without, name) for name in weights] == [1, 1, 1, 0]


def test_unknown_tables_are_refused():
    with pytest.raises(BenchError, match="--tables: the paper has no table 'iris'; it has gas, drive, mnist, disputes"):
        paper_experiments(["iris"])


def test_no_picture_without_gas():
    assert paper_embeddings(paper_experiments(["drive"]), None) is None


@pytest.mark.data
@pytest.mark.skipif(not os.environ.get("GDITD_DATA"), reason="GDITD_DATA is not set")
def test_the_paper_in_short(tmp_path):
    arguments = ("bench", "paper", "--tables", "gas", "--epochs", 1, "--rows", 700, "--workers", 1, "--out", tmp_path)
    result = invoke(*arguments)
    assert result.exit_code == 0, result.stderr
    written = {path.name for path in tmp_path.iterdir()}
    assert {"table3.md", "table3.tex", "table4.md", "table4.tex", "significance.md", "report.html"} <= written
    assert {"mdsr-gas.svg", "critical-difference.svg", "embeddings.svg"} <= written
    picture = (tmp_path / "embeddings.svg").read_text()
    assert all(name in picture for name in METHODS)
    assert "Missing: mnist (no results)." in (tmp_path / "table3.md").read_text()
