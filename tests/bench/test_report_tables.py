import numpy as np
import pandas as pd
import pytest

from gditd.bench.report import difference_table, differences, mean_table, mean_tables, paper_figures, table3, table4
from gditd.bench.report.cells import matrix, tidy
from gditd.bench.report.mean_tables import own_missing, trial_tables
from gditd.bench.report.paper_tables import table3_missing, table4_missing
from gditd.bench.report.tables import Table, best, number, p_value
from tests.bench.report_results import COLUMNS, own_results, paper_results, row


def texts(table: Table) -> dict[tuple[str, ...], list[str]]:
    return {r.labels: [cell.text for cell in r.cells] for r in table.rows}


def bold(table: Table) -> set[tuple[tuple[str, ...], int]]:
    return {(r.labels, place) for r in table.rows for place, cell in enumerate(r.cells) if cell.bold}


@pytest.mark.parametrize(
    "key, value",
    [
        (("disputes", 1.0, "softmax", "id_accuracy"), 99.45),
        (("disputes", 0.25, "gditd-paper", "tnr_at_85_tpr"), 87.16),
        (("gas", 0.3, "deep-mcdd", "ood_aupr"), 96.29),
        (("gas", 0.1, "gditd-paper", "id_accuracy"), 99.72),
        (("drive", 0.1, "mahalanobis", "minority_aupr"), 1.61),
        (("mnist", 0.1, "gditd-paper", "minority_aupr"), 96.81),
    ],
)
def test_published_figures(key, value):
    published = paper_figures.table3().set_index(["dataset", "mdsr", "method", "metric"])["value"]
    assert len(published) == 420
    assert published[key] == value


def test_published_ablation_agrees_with_the_comparison():
    keys = ["dataset", "mdsr", "method", "metric"]
    ablation = paper_figures.table4()
    assert len(ablation) == 27
    both = ablation.merge(paper_figures.table3(), on=keys)
    assert len(both) == 3
    assert (both["value_x"] == both["value_y"]).all()


def test_numbers_as_people_read_them():
    assert number(-0.004, signed=True) == "0.00"
    assert number(-1.5, signed=True) == "\N{MINUS SIGN}1.50"
    assert number(1.5, signed=True) == "+1.50"
    assert number(float("nan")) == "\N{EN DASH}"
    assert number(123456.0, 0) == "123\N{THIN SPACE}456"
    assert p_value(9.5367e-7) == "9.5e\N{MINUS SIGN}7"
    assert p_value(0.03125) == "0.0312"
    assert p_value(0.0) == "0"
    assert best([1.0, 1.001, float("nan"), 0.5]) == [True, True, False, False]
    assert best([1.0, float("nan")]) == [False, False]


def test_table3_shows_ours_the_papers_and_the_difference():
    gas = next(table for table in table3(paper_results(off=-0.5)) if table.title.startswith("gas"))
    assert gas.headings == ("MDSR 1", "MDSR 0.3", "MDSR 0.25", "MDSR 0.2", "MDSR 0.15", "MDSR 0.1")
    assert texts(gas)["OOD AUROC", "gditd-paper"][0] == "97.09 ± 1.00 (97.59, \N{MINUS SIGN}0.50)"
    assert (("OOD AUROC", "gditd-paper"), 0) in bold(gas)
    assert (("OOD AUPR", "deep-mcdd"), 1) in bold(gas)
    assert len(gas.rows) == 5 * 4


def test_table3_has_other_methods_without_a_published_figure():
    results = paper_results(datasets=["gas"])
    forest = results[results["method"] == "softmax"].assign(method="extra-trees")
    (gas,) = table3(pd.concat([results, forest]))
    assert texts(gas)["OOD AUROC", "extra-trees"][0] == "59.74 ± 1.00"


def test_table4_shows_each_arm():
    table = table4(paper_results(off=0.25))
    assert texts(table)["EFL2", "this loss only"][2] == "13.35 ± 1.00 (13.10, +0.25)"
    assert texts(table)["All losses", "\N{EN DASH}"][0] == "99.91 ± 1.00 (99.66, +0.25)"
    assert (("All losses", "\N{EN DASH}"), 1) in bold(table)


def test_differences_from_the_paper():
    results = paper_results(off=-2.0)
    near = results["method"] == "softmax"
    results.loc[near, "value"] += 0.01  # one point nearer: within the limit
    table = difference_table(results)
    assert table.notes[0] == "105 of 420 cells are within 1.5 points of the paper's figure."
    assert texts(table)["gas", "softmax"][0] == "\N{MINUS SIGN}1.00 (6 of 6)"
    assert texts(table)["all", "gditd-paper"][4] == "\N{MINUS SIGN}2.00 (0 of 21)"
    assert np.allclose(differences(results).groupby("method")["difference"].mean()["softmax"], -1.0)


def test_unfinished_results_say_what_is_missing():
    results = paper_results(datasets=["gas"])
    gone = (results["method"] == "mahalanobis") & (results["mdsr"] < 0.25)
    short = (results["method"] == "softmax") & (results["mdsr"] == 1.0) & (results["fold"] > 1)
    arm = results["method"] == "gditd-only-efl1"
    results = results[~gone & ~short & ~arm]
    (gas,) = table3(results)
    assert texts(gas)["OOD AUROC", "mahalanobis"][3] == "\N{EN DASH} (93.66, \N{EN DASH})"
    assert texts(gas)["OOD AUROC", "softmax"][0] == "58.74 (60.24, \N{MINUS SIGN}1.50)"  # one fold has no spread
    assert table3_missing(results) == [
        "Missing: disputes (no results).",
        "Missing: gas: softmax (1 of 3 runs at MDSR 1); mahalanobis (MDSR 0.2, 0.15, 0.1).",
        "Missing: drive (no results).",
        "Missing: mnist (no results).",
    ]
    assert table4_missing(results) == ["Missing: gas: gditd-only-efl1."]


def test_nothing_is_missing_of_a_finished_run():
    assert table3_missing(paper_results()) == []
    assert table4_missing(paper_results()) == []
    assert own_missing(own_results()) == []


def test_mean_tables_of_an_own_table():
    tables = mean_tables(own_results())
    assert [table.title for table in tables] == ["my_table", "my_table, MDSR 0.5", "my_table, MDSR 0.1"]
    assert texts(tables[0])["gditd",] == ["95.00 ± 1.00", "95.00 ± 1.00", "9.5 ± 0.0", "123\N{THIN SPACE}456 ± 0"]
    assert texts(tables[0])["isolation-forest",][0] == "\N{EN DASH}"
    assert (("gditd",), 1) in bold(tables[0])
    assert (("isolation-forest",), 2) in bold(tables[0])  # the quickest fit is the best
    assert "3 folds" in tables[0].notes[0]


def test_mean_table_pools_ood_classes():
    rows = [
        row(("t", 1.0), "a", fold, ("ood_auroc", value), ood)
        for ood, value in (("x", 0.8), ("y", 0.9))
        for fold in (1, 2)
    ]
    table = mean_table(pd.DataFrame(rows, columns=COLUMNS), "pooled")
    assert texts(table)["a",] == ["85.00 ± 5.77"]
    assert "2 folds, 2 OOD classes" in table.notes[0]


def test_trials_stand_beside_the_papers_method_where_they_were_tried():
    results = paper_results(datasets=["gas"])
    here = (results["method"] == "gditd-paper") & (results["mdsr"] == 0.1)
    results = pd.concat([results, results[here].assign(method="gditd-push-200")])
    (table,) = trial_tables(results)
    assert table.title == "gas, MDSR 0.1"
    assert set(texts(table)) == {("gditd-paper",), ("gditd-push-200",)}
    assert trial_tables(paper_results()) == []


def test_a_figure_measured_twice_counts_once():
    rows = [row(("t", 1.0), "a", 1, ("ood_auroc", 0.5)), row(("t", 1.0), "a", 1, ("ood_auroc", 0.7))]
    assert tidy(pd.DataFrame(rows, columns=COLUMNS))["value"].tolist() == [70.0]


def test_cells_compare_the_folds_that_all_methods_have():
    rows = [row(("t", 1.0), "a", fold, ("ood_auroc", value)) for fold, value in ((1, 0.5), (2, 0.9))]
    rows.append(row(("t", 1.0), "b", 1, ("ood_auroc", 0.6)))
    wide = matrix(tidy(pd.DataFrame(rows, columns=COLUMNS)), "ood_auroc")
    assert wide.iloc[0].to_dict() == pytest.approx({"a": 50.0, "b": 60.0})


def test_results_without_a_column_are_refused():
    with pytest.raises(ValueError, match="the results lack fold, seed"):
        tidy(own_results().drop(columns=["fold", "seed"]))
