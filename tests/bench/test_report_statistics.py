import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import friedmanchisquare, wilcoxon

from gditd.bench.report import paper_figures
from gditd.bench.report.significance import (
    each_rival_table,
    paper_matrix,
    rank_table,
    ranks_by_metric,
    reference_method,
    second_best_table,
)
from gditd.bench.report.statistics import (
    against_best_other,
    against_each,
    critical_difference,
    holm,
    rank,
    signed_rank_p,
)
from tests.bench.report_results import own_results, paper_results


@pytest.mark.parametrize("metric, won, steps", [("tnr_at_85_tpr", 21, 1), ("ood_auroc", 21, 1), ("ood_aupr", 20, 5)])
def test_the_papers_p_values(metric, won, steps):
    found = against_best_other(paper_matrix(metric), "gditd-paper")
    assert (found.cells, found.won) == (21, won)
    assert found.p_value == pytest.approx(steps * 2 / 2**21, rel=1e-12)
    # The paper's third p-value, 4.5e-6, lies between two steps of the exact test, 3.8e-6 and 4.8e-6.
    assert found.p_value == pytest.approx(paper_figures.wilcoxon_p_values()[metric], rel=0.07)


@pytest.mark.parametrize("n", [1, 5, 12, 30])
def test_signed_ranks_agree_with_scipy_where_there_are_no_ties(n):
    differences = np.random.default_rng(n).normal(0.3, 1.0, n)
    assert signed_rank_p(differences) == pytest.approx(wilcoxon(differences, method="exact").pvalue, rel=1e-9)


def test_signed_ranks_with_ties_and_zeros_by_hand():
    # Ranks 1.5, 1.5 and 3, the zero dropped: of 8 signs, those with a negative sum of at most 1.5 are three.
    assert signed_rank_p([1.0, -1.0, 2.0, 0.0]) == pytest.approx(2 * 3 / 8)
    assert math.isnan(signed_rank_p([0.0, 0.0]))
    assert math.isnan(signed_rank_p([]))
    assert signed_rank_p([1.0, -1.0]) == 1.0


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])
    assert holm([0.02, math.nan])[0] == 0.02
    assert math.isnan(holm([0.02, math.nan])[1])
    assert holm([]) == []


@pytest.mark.parametrize("methods, cells, q", [(2, 10, 1.960), (4, 21, 2.569), (5, 30, 2.728), (10, 8, 3.164)])
def test_critical_difference_from_the_published_quantiles(methods, cells, q):
    assert critical_difference(methods, cells) == pytest.approx(
        q * math.sqrt(methods * (methods + 1) / (6 * cells)), abs=2e-3
    )


def test_critical_difference_of_demsars_example():
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


def test_ranks_average_ties():
    cells = pd.DataFrame({"a": [0.9, 0.9, 0.8], "b": [0.9, 0.8, 0.8], "c": [0.1, 0.9, 0.7]})
    found = rank(cells)
    assert found.mean_ranks == pytest.approx({"a": 1.5, "b": (1.5 + 3 + 1.5) / 3, "c": (3 + 1.5 + 3) / 3})
    assert found.friedman_p == pytest.approx(friedmanchisquare(*cells.to_numpy().T).pvalue)


def test_ranks_leave_out_methods_with_few_cells():
    cells = pd.DataFrame({"a": [3.0, 3, 3, 3], "b": [2.0, 2, 2, 2], "late": [1.0, *[math.nan] * 3]})
    found = rank(cells)
    assert (found.cells, found.left_out) == (4, ("late",))
    assert found.mean_ranks == {"a": 1.0, "b": 2.0}
    assert math.isnan(found.friedman_p)


@pytest.mark.parametrize(
    "cells, reason",
    [
        (pd.DataFrame({"a": [1.0, 2.0]}), "fewer than two methods"),
        (pd.DataFrame({"a": [1.0], "b": [2.0]}), "fewer than 2 cells"),
        (pd.DataFrame({"a": [], "b": []}, dtype=float), "fewer than two methods"),
        (pd.DataFrame({"a": [1.0, math.nan], "b": [math.nan, 1.0]}), "fewer than 2 cells"),
    ],
)
def test_too_little_to_rank_is_said(cells, reason):
    found = rank(cells)
    assert found.mean_ranks == {}
    assert reason in found.reason


def test_methods_that_never_differ():
    found = rank(pd.DataFrame({name: [1.0, 1.0, 1.0] for name in "abc"}))
    assert set(found.mean_ranks.values()) == {2.0}
    assert math.isnan(found.friedman_p)


def test_a_reference_that_was_not_measured():
    cells = pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 3.0]})
    assert against_best_other(cells, "c").cells == 0
    assert [found.cells for found in against_each(cells, "c")] == [0, 0]


def test_second_best_table_of_results_like_the_papers():
    rows = {r.labels[0]: [cell.text for cell in r.cells] for r in second_best_table(paper_results()).rows}
    minus = "\N{MINUS SIGN}"
    assert rows["OOD AUROC"][:3] == ["21", "21", "0"]
    assert rows["OOD AUROC"][4] == rows["OOD AUROC"][6] == rows["OOD AUROC"][7] == f"9.5e{minus}7"
    assert rows["OOD AUPR"][4] == rows["OOD AUPR"][6] == f"4.8e{minus}6"
    assert rows["OOD AUPR"][7] == f"4.5e{minus}6"


def test_few_cells_are_said_to_be_few():
    table = each_rival_table(own_results(), "gditd", ["gditd", "extra-trees", "isolation-forest"])
    assert any("fewer than 6 cells" in note for note in table.notes)
    rivals = {(r.labels, r.cells[0].text) for r in table.rows}
    assert (("OOD AUROC", "isolation-forest"), "3") in rivals
    assert not any(labels == ("ID accuracy", "isolation-forest") for labels, _ in rivals)  # undefined, so not compared


def test_rank_table_names_who_was_left_out():
    table = rank_table(ranks_by_metric(own_results(), ["gditd", "extra-trees", "isolation-forest"]))
    assert any(note.startswith("ID accuracy") and "isolation-forest" in note for note in table.notes)
    assert [cell.text for cell in table.rows[0].cells] == ["1.00", "1.00"]


def test_the_reference_is_gditd_where_it_was_measured():
    assert reference_method(own_results()) == "gditd"
    assert reference_method(paper_results(datasets=["gas"])) == "gditd-paper"
    assert reference_method(own_results().query("method == 'extra-trees'")) == "extra-trees"
