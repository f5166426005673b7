"""`gditd bench` on a user's own table."""

import json

import pandas as pd
import pytest

from gditd import __version__

QUICK = ("--epochs", 1, "--folds", 2, "--workers", 1)


@pytest.fixture(scope="module")
def cases(tmp_path_factory, folder):
    path = tmp_path_factory.mktemp("bench") / "cases.csv"
    table = pd.read_csv(folder / "train.csv")
    table.to_csv(path, index=False)
    return path


def classes_of(path):
    return sorted(pd.read_csv(path)["label"].astype(str).unique())


def test_json_is_a_list_of_figures_and_their_means(run, cases):
    ood = classes_of(cases)[0]
    methods = "gditd-paper,softmax,extra-trees,isolation-forest"
    printed = run("bench", cases, "--target", "label", "--ood-class", ood, "--methods", methods, *QUICK, "--json")
    rows = json.loads(printed.stdout)
    assert all(
        {"dataset", "mdsr", "method", "fold", "metric", "value", "ood_class", "seed"} <= set(row) for row in rows
    )
    folds = [row for row in rows if row["fold"] != "mean"]
    means = [row for row in rows if row["fold"] == "mean"]
    assert {row["method"] for row in rows} == set(methods.split(","))
    assert (len(folds), len(means)) == (4 * 2 * 7, 4 * 7)
    chosen = [row for row in rows if (row["method"], row["metric"]) == ("softmax", "ood_auroc")]
    *both, mean = [row["value"] for row in chosen]
    assert mean == pytest.approx(sum(both) / 2)
    assert {row["value"] for row in rows if (row["method"], row["metric"]) == ("isolation-forest", "id_accuracy")} == {
        None
    }


def test_each_class_in_turn_and_the_folder(run, cases, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["gditd", "bench", "cases.csv"])
    out = tmp_path / "out"
    arguments = ("bench", cases, "--target", "label", "--ood-class", "each", "--methods", "knn,extra-trees", *QUICK)
    shown = run(*arguments, "--mdsr", "1,0.5", "--out", out).stdout
    for name in classes_of(cases):
        assert f"cases, OOD class {name}, MDSR 0.5: means over 2 splits" in shown
    assert f"report.html are in {out}" in shown
    written = {path.name for path in out.iterdir()}
    assert {"results.csv", "results.parquet", "results.json", "results.jsonl", "results.md", "report.html"} <= written
    noted = json.loads((out / "runs.jsonl").read_text())
    assert (noted["command"], noted["new_results"]) == ("gditd bench cases.csv", 2 * 2 * 2 * len(classes_of(cases)))
    again = run(*arguments, "--mdsr", "1,0.5", "--out", out).stdout
    assert again == shown
    assert len((out / "runs.jsonl").read_text().splitlines()) == 1
    journal = out / "results.jsonl"
    journal.write_text(journal.read_text().replace(f'"version": "{__version__}"', '"version": "0.0.7"', 1))
    assert "note: some results were measured by gditd 0.0.7" in run(*arguments, "--mdsr", "1,0.5", "--out", out).stderr
    assert f"gditd 0.0.7 and {__version__}, torch" in (out / "results.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gsa",), "'gsa' is neither a file nor a known data set"),
        (("CASES",), "is a file: name its label column with --target COL"),
        (("CASES", "--target", "kind"), 'has no column "kind"'),
        (("CASES", "--target", "label"), "--ood-class: say which class of cases plays the unknown one"),
        (("CASES", "--target", "label", "--ood-class", "zebra"), "--ood-class: cases has no class 'zebra'"),
        (("CASES", "--target", "label", "--methods", "sofmax"), "--methods: unknown method 'sofmax'"),
        (("CASES", "--target", "label", "--methods", ","), "--methods is empty"),
        (("CASES", "--target", "label", "--mdsr", "1,x"), "--mdsr: '1,x' is no list of numbers, such as 1,0.3"),
        (("CASES", "--target", "label", "--mdsr", "2"), "above 0 and at most 1, got 2.0"),
        (("CASES", "--target", "label", "--seed", "0.5"), "--seed: '0.5' is no list of whole numbers, such as 0,1"),
        (("CASES", "--target", "label", "--tables", "gas"), "--tables goes with: gditd bench paper"),
        (("paper",), "say where with --out DIR"),
        (("paper", "--out", "r", "--methods", "knn"), "--methods does not go with bench paper"),
        (("paper", "--out", "r", "--tables", "iris"), "--tables: the paper has no table 'iris'"),
        (("paper", "--out", "r", "--tables", "gas", "--data", "nowhere"), "nowhere is not a readable folder"),
    ],
)
def test_bad_input(fail, cases, arguments, message):
    named = tuple(cases if part == "CASES" else part for part in arguments)
    assert message in fail("bench", *named)


def test_a_file_as_out_is_refused(fail, cases, tmp_path):
    (tmp_path / "f").write_text("")
    assert "is a file: give the name of a folder" in fail("bench", cases, "--target", "label", "--out", tmp_path / "f")


def test_failures_are_told_and_give_another_exit_code(cases, monkeypatch):
    from gditd.bench import methods
    from tests.cli.conftest import invoke

    class Broken:
        def fit(self, X, y):
            raise MemoryError("no room")

    broken = methods.Method("rows", lambda seed, epochs: Broken())
    monkeypatch.setattr(methods, "METHODS", {**methods.METHODS, "broken": broken})
    ood = classes_of(cases)[0]
    result = invoke("bench", cases, "--target", "label", "--ood-class", ood, "--methods", "knn,broken", *QUICK)
    assert result.exit_code == 1
    assert "knn" in result.stdout
    assert result.stderr.count("failed: broken on") == 2
