"""Runs to the end, stopped runs, and what they leave behind."""

import dataclasses
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from gditd import __version__
from gditd.bench import BenchError, Experiment, methods, run, run_all
from gditd.bench.journal import JOURNAL, as_document
from gditd.bench.units import make_units

SPEEDS = ["fit_seconds", "score_rows_per_second"]
KEYS = ["method", "fold", "metric"]


def figures(results: pd.DataFrame) -> pd.Series:
    """Everything but the times, which differ from run to run."""
    return results[~results["metric"].isin(SPEEDS)].set_index(KEYS)["value"].sort_index()


@pytest.fixture(scope="module")
def unbroken(cases):
    experiment = Experiment(
        dataset=str(cases),
        target="label",
        ood_classes=("alien",),
        methods=("softmax", "mahalanobis", "gditd-paper", "knn"),
        folds=3,
        epochs=2,
    )
    return run(experiment, workers=1)


def test_results_are_tidy(unbroken):
    assert list(unbroken.columns) == [
        *("dataset", "ood_class", "minority_class", "mdsr", "method", "fold", "seed", "metric", "value")
    ]
    assert len(unbroken) == 4 * 3 * 7
    assert set(unbroken["dataset"]) == {"cases"}
    shares = unbroken[~unbroken["metric"].isin(SPEEDS)].dropna()
    assert shares["value"].between(0, 1).all()
    assert (unbroken[unbroken["metric"].isin(SPEEDS)]["value"] > 0).all()
    no_class = unbroken[(unbroken["method"] == "knn") & unbroken["metric"].isin(["id_accuracy", "minority_aupr"])]
    assert no_class["value"].isna().all()


def test_two_workers_give_the_same_figures_as_one(experiment, unbroken, tmp_path):
    seen = []
    both = run(experiment, out=tmp_path / "out", workers=2, progress=seen.append)
    pd.testing.assert_series_equal(figures(both), figures(unbroken), atol=0.02)
    assert seen[0].share == 0.0
    assert (seen[-1].jobs_done, seen[-1].jobs, seen[-1].share) == (12, 12, 1.0)
    written = pd.read_parquet(tmp_path / "out" / "results.parquet")
    pd.testing.assert_frame_equal(written, both, check_dtype=False)
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "out" / "results.csv", dtype={"fold": int}), both, check_dtype=False
    )
    assert json.loads((tmp_path / "out" / "results.json").read_text()) == as_document(both)


def test_a_second_run_only_adds_what_is_missing(experiment, unbroken, tmp_path):
    first = run(dataclasses.replace(experiment, methods=("softmax",), only_folds=(1,)), out=tmp_path, workers=1)
    before = (tmp_path / JOURNAL).read_text()
    outcome = run_all(experiment, out=tmp_path, workers=1)
    assert (tmp_path / JOURNAL).read_text().startswith(before)
    assert outcome.new_results == 11
    pd.testing.assert_series_equal(figures(outcome.results), figures(unbroken), atol=0.02)
    again = run_all(experiment, out=tmp_path, workers=1)
    assert again.new_results == 0
    pd.testing.assert_frame_equal(again.results, outcome.results)
    kept = again.results[(again.results["method"] == "softmax") & (again.results["fold"] == 1)]
    np.testing.assert_array_equal(kept["value"], first["value"])


def test_other_rows_seeds_or_epochs_are_other_results(experiment, tmp_path):
    quick = dataclasses.replace(experiment, methods=("softmax",), only_folds=(1,))
    assert run_all(quick, out=tmp_path, workers=1).new_results == 1
    for change in ({"epochs": 3}, {"seeds": (1,)}, {"max_rows": 170}, {"ignore": ("amount",)}):
        assert run_all(dataclasses.replace(quick, **change), out=tmp_path, workers=1).new_results == 1, change


def test_a_line_cut_short_is_done_again(experiment, tmp_path):
    quick = dataclasses.replace(experiment, methods=("knn",))
    whole = run(quick, out=tmp_path, workers=1)
    journal = tmp_path / JOURNAL
    journal.write_bytes(journal.read_bytes()[:-40])
    outcome = run_all(quick, out=tmp_path, workers=1)
    assert outcome.new_results == 1
    pd.testing.assert_series_equal(figures(outcome.results), figures(whole))
    assert len(journal.read_text().splitlines()) == 3


def test_only_classes_that_are_known_nowhere_are_noted(cases, experiment, tmp_path):
    table = pd.read_csv(cases)
    rare = pd.concat([table, table[:2].assign(label="rare"), table[:1].assign(label="single")])
    rare.to_csv(tmp_path / "cases.csv", index=False)
    own = dataclasses.replace(experiment, dataset=str(tmp_path / "cases.csv"), methods=("knn",), only_folds=(1,))
    told = "class '{}' of cases has fewer rows than there are folds and takes no part as a known class"
    assert run_all(own, workers=1).notes == [told.format("rare"), told.format("single")]
    outcome = run_all(dataclasses.replace(own, ood_classes=("rare",)), workers=1)
    assert outcome.notes == [told.format("single")]
    assert set(outcome.results["ood_class"]) == {"rare"}
    both = run_all(dataclasses.replace(own, ood_classes=("rare", "alien")), workers=1)
    assert told.format("rare") in both.notes, "in the cells where another class is held out"


def test_results_of_another_version_are_kept_and_told(experiment, tmp_path):
    quick = dataclasses.replace(experiment, methods=("knn",))
    first = run_all(dataclasses.replace(quick, only_folds=(1,)), out=tmp_path, workers=1)
    assert (first.versions, first.notes) == ([__version__], [])
    journal = tmp_path / JOURNAL
    journal.write_text(journal.read_text().replace(f'"version": "{__version__}"', '"version": "0.0.7"'))
    outcome = run_all(quick, out=tmp_path, workers=1)
    assert outcome.new_results == 2
    assert outcome.versions == ["0.0.7", __version__]
    (note,) = outcome.notes
    assert note.startswith(f"some results were measured by gditd 0.0.7, and this is gditd {__version__}: ")


def test_a_foreign_journal_is_refused(experiment, tmp_path):
    (tmp_path / JOURNAL).write_text('{"job": 1}\n')
    with pytest.raises(BenchError, match="line 1 is not a result of this program: move the file away"):
        run(experiment, out=tmp_path, workers=1)


def test_two_runs_cannot_write_to_one_folder(experiment, tmp_path):
    from gditd.bench.journal import open_journal

    with open_journal(tmp_path), pytest.raises(BenchError, match="another run is writing to"):
        run(experiment, out=tmp_path, workers=1)


def test_one_failing_method_does_not_take_the_others_along(experiment, monkeypatch, tmp_path):
    class Broken:
        def fit(self, X, y):
            raise MemoryError("no room\nat all")

    monkeypatch.setattr(
        methods, "METHODS", {**methods.METHODS, "broken": methods.Method("rows", lambda seed, epochs: Broken())}
    )
    mixed = dataclasses.replace(experiment, methods=("knn", "broken"))
    outcome = run_all(mixed, out=tmp_path, workers=1)
    assert set(outcome.results["method"]) == {"knn"}
    assert len(outcome.failures) == 3
    assert outcome.failures[0].endswith(", MDSR 1, fold 1: no room at all")
    assert outcome.failures[0].startswith("broken on ")
    with pytest.raises(BenchError, match="3 units of work failed, the first: broken on"):
        run(mixed, workers=1)


def test_unknown_methods_are_refused_before_any_work(experiment):
    with pytest.raises(BenchError, match="--methods: unknown method 'sofmax'; known are gditd, gditd-fast"):
        run(dataclasses.replace(experiment, methods=("softmax", "sofmax")))


def test_cells_of_one_architecture_train_as_one_cohort_and_share_networks(experiment):
    from gditd.bench.protocol import cells
    from gditd.bench.tables import load_table

    table = load_table(experiment, None)
    wanted = [(cell, name) for cell in cells(experiment, table) for name in experiment.methods]
    units = make_units(experiment, wanted, n_rows=180, n_columns=8, workers=2)
    sizes = sorted((unit.methods, len(unit.cells)) for unit in units)
    assert sizes == [
        (("gditd-paper",), 1),
        (("gditd-paper",), 2),
        *[(("knn",), 1)] * 3,
        (("softmax", "mahalanobis"), 1),
        (("softmax", "mahalanobis"), 2),
    ]


def test_every_method_makes_something_that_fits_and_scores(cases):
    every = tuple(name for name in methods.method_names() if name not in ("gditd", "gditd-fast"))
    own = Experiment(
        dataset=str(cases), target="label", ood_classes=("alien",), methods=every, only_folds=(1,), epochs=1
    )
    results = run(own, workers=1)
    scores = results[results["metric"] == "ood_auroc"]
    assert set(scores["method"]) == set(every)
    assert scores["value"].notna().all()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_goes_on_to_the_same_results(cases, tmp_path, stop):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "gditd.cli", "bench", str(cases), "--target", "label", "--ood-class", "alien"]
    command += ["--methods", "softmax,gditd-paper,knn", "--folds", "3", "--epochs", "60", "--quiet", "--out", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    wait_for_results(out / JOURNAL)
    process.send_signal(stop)
    stderr = process.communicate(timeout=60)[1].decode()  # ends when the workers, who share the pipe, are gone too
    kept = (out / JOURNAL).read_bytes().count(b"\n")
    if stop == signal.SIGINT:
        assert process.returncode == 130
        assert stderr.startswith("interrupted: results so far are kept in ")
        assert stderr.count("\n") == 1
    experiment = Experiment(
        dataset=str(cases),
        target="label",
        ood_classes=("alien",),
        methods=("softmax", "gditd-paper", "knn"),
        folds=3,
        epochs=60,
    )
    resumed = run_all(experiment, out=out, workers=1)
    assert resumed.new_results == 9 - kept < 9
    pd.testing.assert_series_equal(figures(resumed.results), figures(run(experiment, workers=1)), atol=0.02)
    assert not list(out.glob(".*"))


def wait_for_results(journal):
    deadline = time.monotonic() + 120
    while not (journal.exists() and b"\n" in journal.read_bytes()):
        assert time.monotonic() < deadline, "no result within two minutes"
        time.sleep(0.05)
