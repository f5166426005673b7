"""Whole reports: sound pages whose figures are those that were measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gditd
from gditd import GDITDClassifier
from gditd.report import evaluate_report, fit_report
from gditd.report.training import held_out_rows
from gditd.tables import TableError
from tests.raw_tables import mixed_table, quick
from tests.report.pages import SECTIONS, read

pytestmark = pytest.mark.filterwarnings("ignore::gditd.promises.RareClassWarning")


@pytest.fixture(scope="module")
def model():
    frame, labels = mixed_table((70, 80, 110))
    return GDITDClassifier(preset="fast", max_epochs=15, random_state=0).fit(frame.assign(site="A"), labels)


@pytest.fixture(scope="module")
def new_rows():
    """Ninety rows, the first ten of a class that training did not see, twenty with a new region."""
    frame, labels = mixed_table((20, 30, 40), seed=1)
    labels = labels.astype(object)
    frame.loc[:9, "amount"] = 90.0
    labels[:10] = "alien"
    frame.loc[60:79, "region"] = "moon"
    return frame.assign(site="A"), labels


def test_evaluate_report(model, new_rows, tmp_path):
    frame, labels = new_rows
    figures = evaluate_report(model, frame, labels, None, tmp_path / "r.html", context={"table": "a <b>"})
    page = read(tmp_path / "r.html")
    assert page.anchors == [*SECTIONS]
    shown = {row[0]: row[1] for row in page.tables["All figures"][1:]}
    for name, words in shown.items():
        assert words == f"{100 * figures[name]:.1f} %"
        assert figures[name] in page.values()
    caught = f"{100 * figures['ood_recall']:.1f} %"
    assert page.tables["Classes that training did not see"][1] == ["alien", "10", caught]
    known = {row[0]: row for row in page.tables["Known classes"][1:]}
    assert [int(known[name][1]) for name in ("low", "middle", "top")] == [10, 30, 40]
    assert page.tables["What changed"][1][0] == "region"
    assert "categories that training did not have" in page.tables["What changed"][1][1]
    strangest = page.tables["Strangest rows"][1:]
    # Rows of a class, or a region, that training did not see: which of the two are stranger is for the views to say.
    assert int(strangest[0][0]) in {*range(1, 11), *range(61, 81)}
    alien = next(row for row in strangest if 1 <= int(row[0]) <= 10)
    assert "amount = 90" in alien[1]
    assert alien[2] == "alien (unseen)"
    assert "Not used, because they have one value in all training rows: site." in page.text
    assert "a &lt;b&gt;" in page.source


def test_confusion_counts_the_rows(model, new_rows, tmp_path):
    frame, labels = new_rows
    evaluate_report(model, frame, labels, None, tmp_path / "r.html")
    known = labels != "alien"
    predicted = model.predict(frame)[known]
    matrix = read(tmp_path / "r.html").tables["Rows by true class and most likely class"][1:]
    for c, own in enumerate(model.classes_):
        counts = [((labels[known] == own) & (predicted == other)).sum() for other in model.classes_]
        assert [int(cell) for cell in matrix[c][1:4]] == counts


def test_what_a_loaded_model_cannot_show_is_said(model, new_rows, tmp_path):
    model.save(tmp_path / "m.gditd")
    known = new_rows[1] != "alien"
    frame, labels = new_rows[0][known], new_rows[1][known]
    evaluate_report(gditd.load(tmp_path / "m.gditd"), frame, labels, None, tmp_path / "r.html")
    page = read(tmp_path / "r.html")
    assert {"training", "curves"}.isdisjoint(page.anchors)
    assert "Training curves: a model file does not keep them" in page.text
    assert "No row is of a class that training did not see." in page.text


def test_no_row_of_a_known_class(model, new_rows, tmp_path):
    frame, labels = new_rows
    evaluate_report(model, frame.head(10), labels[:10], None, tmp_path / "r.html")
    page = read(tmp_path / "r.html")
    assert {"alarms", "curves", "confusion", "drift"}.isdisjoint(page.anchors)
    assert "10 rows are too few to compare" in page.text


def test_fit_report_uses_rows_held_out(model, tmp_path):
    frame, labels = mixed_table((70, 80, 110))
    figures = fit_report(model, frame.assign(site="A"), labels, tmp_path / "r.html")
    page = read(tmp_path / "r.html")
    assert figures["n_rows"] == model.model_.calibrator.fold_counts[0].sum() < len(frame)
    assert "These rows were held out of training" in page.text
    assert {"training", "data", "map"} < set(page.anchors)
    assert {"curves", "drift"}.isdisjoint(page.anchors)


@pytest.mark.parametrize("counts", [(70, 80, 110), (300, 400, 900)])  # of large classes, views set rows aside
def test_rows_held_out_are_those_that_calibrate(counts):
    frame, labels = mixed_table(counts)
    model = quick().fit(frame, labels)
    held_out = held_out_rows(model, np.searchsorted(model.classes_, labels))
    own = model.model_.scored(model._encode(frame[held_out]).values).classes
    own = -own[np.arange(len(own)), np.searchsorted(model.classes_, labels[held_out])]
    assert np.allclose(np.sort(own), np.sort(model.model_.calibrator.state()[1]["scores"]))


def test_figures_of_rows_held_out_are_by_what_they_did_not_teach(tmp_path):
    """What ranks rows and names classes learned from them too, and is surer of them than of new ones."""
    frame, labels = mixed_table((70, 80, 110))
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(len(labels)) < 0.25, rng.permutation(labels), labels)
    model = quick(preset="default").fit(frame, labels)
    held_out = held_out_rows(model, np.searchsorted(model.classes_, labels))
    reported = fit_report(model, frame, labels, tmp_path / "r.html")["id_accuracy"]
    assert reported < (model.predict(frame[held_out]) == labels[held_out]).mean()
    model.model_ = model.model_.as_calibrated
    assert reported == (model.predict(frame[held_out]) == labels[held_out]).mean()


@pytest.mark.parametrize(
    "settings",
    [
        {"preset": "paper", "max_epochs": 3},
        {"random_state": None},
        {"calibration": "cross", "n_members": 2},
    ],
)
def test_where_no_row_is_known_to_be_held_out_it_says_training_rows(settings, tmp_path):
    frame, labels = mixed_table()
    model = quick(**settings).fit(frame, labels)
    figures = fit_report(model, frame, labels, tmp_path / "r.html")
    assert figures["n_rows"] == len(frame)
    assert "Training rows look better than new rows do" in read(tmp_path / "r.html").text


def test_hostile_names_are_shown_and_nothing_more(tmp_path):
    evil = '<script>alert("x")</script>\'"&'
    frame, labels = mixed_table()
    frame = frame.rename(columns={"amount": evil, "gap": "</style><svg onload=x>"})
    labels = np.where(labels == "low", evil, labels).astype(object)
    frame.loc[frame.index[:30], "region"] = "<img src=x>"
    model = quick().fit(frame, labels)
    fit_report(model, frame, labels, tmp_path / "fit.html", context={evil: evil})
    read(tmp_path / "fit.html")
    strange = frame.assign(**{evil: 1e6})
    labels[:5] = "</table><script>"
    evaluate_report(model, strange, labels, None, tmp_path / "evaluate.html")
    page = read(tmp_path / "evaluate.html")
    assert evil in page.text


def test_a_large_table_gives_a_small_page(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.choice(3, 100_000, p=[0.9, 0.09, 0.01])
    rows = rng.normal(size=(100_000, 10)) + 6.0 * labels[:, None]
    model = quick().fit(rows[:2_000], labels[:2_000])
    labels[::50] = 7
    rows[::50] += 100
    evaluate_report(model, rows, labels, None, tmp_path / "r.html")
    page = read(tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size < 500_000
    assert len(page.tables["Strangest rows"]) == 51
    assert "drawn at random from each class alike" in page.text


def test_many_classes_and_columns_stay_readable(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(60), 6)
    frame = pd.DataFrame(rng.normal(size=(360, 70)) + labels[:, None])
    model = quick().fit(frame, labels)
    new = np.arange(360) + 1_000
    evaluate_report(model, frame, np.where(labels < 50, labels, new), None, tmp_path / "r.html")
    page = read(tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size < 500_000
    assert "Of 60 classes, the 15 largest and the 15 smallest are shown." in page.text
    assert "50 more columns are not listed." in page.text
    assert "The 20 largest of 60." in page.text


def test_nothing_is_cut_on_a_telephone(browser, model, new_rows, tmp_path):
    evaluate_report(model, *new_rows, None, tmp_path / "r.html")
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto((tmp_path / "r.html").as_uri())
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
    for words in ("caption span", ".few td", "svg.plain text"):
        ends = page.eval_on_selector_all(words, "found => found.map((one) => one.getBoundingClientRect().right)")
        assert max(ends) <= 390, words
    page.close()


@pytest.mark.parametrize("n_classes", [1, 2])
def test_few_classes(n_classes, tmp_path):
    rng = np.random.default_rng(0)
    labels = np.arange(60) % n_classes
    rows = rng.normal(size=(60, 3)) + 5.0 * labels[:, None]
    model = quick().fit(rows, labels)
    fit_report(model, rows, labels, tmp_path / "r.html")
    read(tmp_path / "r.html")


def test_bad_input(model, new_rows, tmp_path):
    frame, labels = new_rows
    with pytest.raises(ValueError, match=r"ends in \.html"):
        evaluate_report(model, frame, labels, None, tmp_path / "r.pdf")
    with pytest.raises(ValueError, match="no folder"):
        fit_report(model, frame, labels, tmp_path / "none" / "r.html")
    with pytest.raises(TableError, match="90 rows and there are 89 labels"):
        evaluate_report(model, frame, labels[1:], None, tmp_path / "r.html")
    with pytest.raises(TableError, match="not the labels that the model was fitted with"):
        fit_report(model, frame, labels, tmp_path / "r.html")
    with pytest.raises(TableError, match='column "amount", row 3'):
        broken = frame.astype({"amount": object})
        broken.loc[2, "amount"] = "many"
        evaluate_report(model, broken, labels, None, tmp_path / "r.html")
    assert list(tmp_path.iterdir()) == []
