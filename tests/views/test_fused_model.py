"""A model that judges by many views: what it catches, what it forecasts, and that it comes back from its file."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

import gditd
from gditd import GDITDClassifier, metrics
from gditd.model_file import ModelFileError
from gditd.views import fuse
from gditd.views.looks import ViewSet
from gditd.views.pooling import Pool
from tests.raw_tables import small_backbone

pytestmark = pytest.mark.filterwarnings("ignore::gditd.promises.RareClassWarning")

N_CLASSES = 5


def blobs(rng, classes, each):
    """Classes of ten columns, in each of which two classes look alike."""
    centers = 2.5 * np.random.default_rng(1).normal(size=(N_CLASSES + 1, 10))
    y = np.repeat(classes, each)
    return centers[y] + rng.normal(size=(len(y), 10)), y


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    known, unseen = blobs(rng, np.arange(N_CLASSES), 150), blobs(rng, [N_CLASSES], 300)
    new = blobs(rng, np.arange(N_CLASSES), 100)
    model = GDITDClassifier(backbone=small_backbone, max_epochs=20, random_state=0).fit(*known)
    return model, known, new, unseen[0]


def test_a_class_never_seen_is_caught_and_known_rows_are_not(case):
    model, _, (new, y), unseen = case
    scores = np.concatenate([model.ood_score(new), model.ood_score(unseen)])
    assert metrics.ood_auroc(np.repeat([False, True], [len(new), len(unseen)]), scores) > 0.97
    assert (model.predict(new) == y).mean() > 0.97
    assert (model.verdict(new)["verdict"] == "OOD").mean() < 0.1
    assert (model.verdict(unseen)["verdict"] == "OOD").mean() > 0.5


def test_the_forecast_says_about_what_comes(case):
    model, _, (new, _), unseen = case
    forecast = model.summary()["forecast"]
    assert [caught["class"] for caught in forecast["left_out"]] == list(range(N_CLASSES))
    is_ood = np.repeat([False, True], [len(new), len(unseen)])
    truth = metrics.ood_auroc(is_ood, np.concatenate([model.ood_score(new), model.ood_score(unseen)]))
    assert forecast["low"] <= truth <= forecast["high"]
    assert forecast["low"] <= forecast["auroc"] <= forecast["high"]


def test_the_ood_score_is_minus_the_largest_score_to_the_bit(case):
    model, _, (new, _), unseen = case
    for own in (model.model_, model.model_.as_calibrated):
        for rows in (new, unseen):
            values = model._encode(rows).values
            np.testing.assert_array_equal(own.ood_scores(values), -own.class_scores(values).max(axis=1))
            np.testing.assert_array_equal(own.ood_scores(values), own.named(values).ood_scores)
    np.testing.assert_array_equal(own.ood_scores(values), -own.scored(values).classes.max(axis=1))


def test_views_and_weights(case):
    views = case[0].summary()["views"]
    assert sum(views.values()) == pytest.approx(1)
    assert {"mixed-forest", "hidden-prototypes"} <= set(views)


def test_views_that_hardly_count_are_dropped_but_not_what_their_forest_gives_anyway(case):
    fusion, cohort = case[0].model_.fusion, case[0].model_.cohort
    names = fusion.views.names
    weights = np.array([{"mixed-forest": 0.5}.get(name, 0.001) for name in names])
    weights[names.index("hidden-prototypes")] = 0.5
    light = replace(fusion, weights=weights / weights.sum()).lightened(cohort=cohort)
    assert light.views.names == ["hidden-prototypes", "mixed-forest", "mixed-ranges"]
    np.testing.assert_allclose(light.weights, np.array([0.5, 0.5, 0.001]) / 1.001)
    places = [names.index(name) for name in light.views.names]
    assert light.scales.of_view == [fusion.scales.of_view[place] for place in places]


def test_probabilities_agree_with_the_prediction(case):
    model, _, (new, y), _ = case
    probabilities = model.predict_proba(new)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(new))
    assert -np.log(probabilities[np.arange(len(y)), y]).mean() < 0.2


def test_no_alarm_depends_on_what_rows_that_calibrate_have_taught(case):
    model, known, (new, _), unseen = case
    calibrated = copy.copy(model)
    calibrated.model_ = model.model_.as_calibrated
    for rows in (known[0], new, unseen):
        np.testing.assert_array_equal(calibrated.p_values(rows), model.p_values(rows))
        np.testing.assert_array_equal(
            calibrated.verdict(rows)["verdict"] == "OOD", model.verdict(rows)["verdict"] == "OOD"
        )
    assert np.abs(calibrated.predict_proba(new) - model.predict_proba(new)).max() > 0.01
    assert np.abs(calibrated.ood_score(new) - model.ood_score(new)).max() > 0.1


@pytest.mark.parametrize("preset", ["default", "fast"])
def test_rows_that_calibrate_sharpen_the_score(preset):
    """Of thirty digits a class, some ten calibrate: what knows them all tells a digit that nobody labelled better."""
    assert np.mean([gain_by_calibrating_rows(preset, np.random.default_rng(seed)) for seed in range(6)]) > 0.002


def gain_by_calibrating_rows(preset, rng):
    """How much more AUROC the score has for knowing the rows that calibrate."""
    images, y = load_digits(return_X_y=True)
    unseen, *known = rng.permutation(10)[:6]
    teach = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:30] for c in known])
    judged = np.setdiff1d(np.flatnonzero(np.isin(y, [unseen, *known])), teach)
    model = GDITDClassifier(preset=preset, max_epochs=10, random_state=0).fit(images[teach], y[teach])
    values, is_ood = model._encode(images[judged]).values, y[judged] == unseen
    with_them, without = (
        metrics.ood_auroc(is_ood, own.ood_scores(values)) for own in (model.model_, model.model_.as_calibrated)
    )
    return with_them - without


@pytest.mark.parametrize(("each", "apart"), [(100, True), (800, False)])
def test_fast_has_one_set_of_views_where_another_would_learn_from_hardly_more_rows(each, apart):
    rows, y = blobs(np.random.default_rng(0), np.arange(N_CLASSES), each)
    model = GDITDClassifier(preset="fast", backbone=small_backbone, max_epochs=1, random_state=0).fit(rows, y)
    assert (model.model_.fusion.complete is not None) == apart
    assert model.model_.fusion.naming_pool is not None


def test_class_scores_go_by_what_names_the_class(case):
    model, _, (new, _), unseen = case
    for rows in (new, unseen):
        scores = model.class_scores(rows)
        np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(rows))
        np.testing.assert_array_equal(-scores.max(axis=1), model.ood_score(rows))


@pytest.fixture
def learned_anew(monkeypatch):
    """Sets of views learned once more, each with the number of its rows."""
    found = []
    learn = ViewSet.regrown

    def noted(self, lesson, *settings):
        views = learn(self, lesson, *settings)
        found.append((views, len(lesson.rows)))
        return views

    monkeypatch.setattr(ViewSet, "regrown", noted)
    return found


def test_what_ranks_rows_learned_from_every_row_and_what_makes_p_values_from_none_that_calibrates(case, learned_anew):
    _, (rows, y), _, _ = case
    model = GDITDClassifier(backbone=small_backbone, max_epochs=1, random_state=0).fit(rows, y)
    (views, n_taught), (complete, n_rows) = learned_anew
    assert model.model_.fusion.views is views
    assert model.model_.fusion.complete is complete
    assert n_rows == len(rows)
    assert n_taught == len(rows) - len(model.model_.calibrator.state()[1]["scores"])


def test_a_few_rows_set_aside_are_not_worth_learning_the_views_of_p_values_anew(learned_anew):
    rows, y = blobs(np.random.default_rng(0), np.arange(N_CLASSES), 800)
    model = GDITDClassifier(backbone=small_backbone, max_epochs=1, random_state=0).fit(rows, y)
    ((complete, n_rows),) = learned_anew
    assert model.model_.fusion.complete is complete
    assert n_rows == len(rows)


def test_where_a_forest_learns_from_fewer_rows_than_there_are_none_is_missed(case, monkeypatch):
    _, (rows, y), (new, _), _ = case
    monkeypatch.setattr(fuse, "MOST_ROWS", 300)
    model = GDITDClassifier(backbone=small_backbone, max_epochs=1, random_state=0).fit(rows, y)
    assert model.model_.fusion.complete is None
    values = model._encode(new).values
    np.testing.assert_array_equal(model.ood_score(new), -model.model_.scored(values).classes.max(axis=1))


def test_the_plain_forest_names_classes_whether_it_is_a_view_or_not(case):
    model = case[0]
    fusion = model.model_.fusion
    in_views = fusion.complete.forests.get("forest")
    assert (fusion.namer is None) == (in_views is not None)


def test_names_go_by_all_forests_and_the_plain_one_counts_three_times(case):
    model, _, (new, _), _ = case
    fusion, values = model.model_.fusion, model._encode(new).values
    mixed = fusion.complete.forests["mixed-forest"]
    plain = fusion.namer or fusion.complete.forests["forest"]
    looks = fusion.look_completely(model.model_.cohort, values)
    of_mixed, of_plain = (forest.class_votes(forest.walk(values)) for forest in (mixed, plain))
    np.testing.assert_allclose(fusion.naming_votes(looks, values), (of_mixed + 3 * of_plain) / 4)


def test_how_much_votes_count_in_names_is_learned_from_all_rows_held_out(case, monkeypatch):
    _, (rows, y), _, _ = case
    learned, fit = [], Pool.fit.__func__

    def noted(cls, zeta, votes, codes):
        learned.append((votes, codes, fit(cls, zeta, votes, codes)))
        return learned[-1][2]

    monkeypatch.setattr(Pool, "fit", classmethod(noted))
    model = GDITDClassifier(backbone=small_backbone, max_epochs=1, random_state=0).fit(rows, y)
    votes, codes, pool = learned[-1]
    assert model.model_.fusion.naming_pool == pool
    assert len(codes) > len(model.model_.calibrator.state()[1]["scores"])
    # A forest that had learned from these rows would name each of them with every tree.
    assert (votes.max(axis=1) == 1).mean() < 0.5
    assert (votes.argmax(axis=1) == codes).mean() > 0.8


def test_the_fast_preset_names_by_what_scores():
    rng = np.random.default_rng(0)
    model = GDITDClassifier(preset="fast", backbone=small_backbone, max_epochs=1).fit(*blobs(rng, np.arange(3), 60))
    assert model.model_.fusion.namer is None
    rows = blobs(rng, np.arange(3), 20)[0]
    np.testing.assert_array_equal(model.predict(rows), model.classes_[model.class_scores(rows).argmax(axis=1)])


def test_it_comes_back_from_its_file(case, tmp_path):
    model, _, (new, _), unseen = case
    model.save(tmp_path / "model.gditd")
    again = gditd.load(tmp_path / "model.gditd", backbone=small_backbone)
    for rows in (new, unseen):
        np.testing.assert_array_equal(again.ood_score(rows), model.ood_score(rows))
        np.testing.assert_array_equal(again.p_values(rows), model.p_values(rows))
        np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    assert again.summary() == model.summary()


def test_scores_do_not_depend_on_company(case):
    model, _, (new, _), _ = case
    alone = np.concatenate([model.ood_score(new[row : row + 1]) for row in range(20)])
    np.testing.assert_allclose(alone, model.ood_score(new)[:20], rtol=1e-4)


@pytest.mark.parametrize("preset", ["default", "fast"])
def test_absurd_values_are_the_strangest(case, preset):
    _, known, (new, _), _ = case
    model = GDITDClassifier(preset=preset, backbone=small_backbone, max_epochs=20, random_state=0).fit(*known)
    absurd = new[:12].copy()
    absurd[np.arange(12), np.arange(12) % 10] = np.resize([1e3, -1e6, 1e30, -1e300], 12)
    assert model.ood_score(absurd).min() > model.ood_score(new).max()
    assert (model.verdict(absurd)["verdict"] == "OOD").all()


@pytest.mark.parametrize("n_classes", [1, 2])
def test_with_too_few_classes_to_leave_out_the_prior_weights_serve(n_classes):
    rng = np.random.default_rng(0)
    rows, y = blobs(rng, np.arange(n_classes), 150)
    model = GDITDClassifier(backbone=small_backbone, max_epochs=20, random_state=0).fit(rows, y)
    assert model.summary()["forecast"] is None
    far, _ = blobs(rng, [N_CLASSES], 100)
    assert np.median(model.ood_score(far)) > np.quantile(model.ood_score(rows), 0.95)


@pytest.mark.parametrize(("preset", "least"), [("default", 0.91), ("fast", 0.86)])
def test_among_categories_of_many_values_unseen_rows_do_not_pass_for_ordinary(preset, least):
    """Rows of the unseen class say no to most questions about single values, as ordinary rows do."""
    assert np.mean([caught_among_categories(preset, np.random.default_rng(seed)) for seed in range(3)]) > least


def caught_among_categories(preset, rng):
    """The AUROC of a third class, where two are known: they differ only in how frequent values are."""
    shares = rng.dirichlet(np.full(25, 0.6), size=(12, 3))
    y = np.repeat(np.arange(3), 300)
    table = pd.DataFrame({f"c{place}": [f"v{rng.choice(25, p=own[c])}" for c in y] for place, own in enumerate(shares)})
    teaches = (y < 2) & (np.arange(len(y)) % 2 == 0)
    model = GDITDClassifier(preset=preset, max_epochs=20, random_state=0).fit(table[teaches], y[teaches])
    return metrics.ood_auroc(y[~teaches] == 2, model.ood_score(table[~teaches]))


def test_rows_known_to_be_of_no_class_sharpen_the_eye_for_their_like():
    """The unseen class differs from a known one in a product of two columns only."""
    gains = [gain_by_ood_rows(np.random.default_rng(seed)) for seed in range(3)]
    assert np.mean(gains) > 0.01


def gain_by_ood_rows(rng):
    """How much more AUROC it gives to know a few of the unseen rows."""
    y = np.repeat([0, 1, 2], 200)
    rows = rng.normal(size=(600, 8))
    rows[:, 0] += 4.0 * y
    rows[:, 3] = np.sign(rows[:, 2]) * np.abs(rows[:, 3])
    odd = rng.normal(size=(330, 8))
    odd[:, 0] += 4.0 * rng.integers(3, size=330)
    odd[:, 3] = -np.sign(odd[:, 2]) * np.abs(odd[:, 3])
    is_ood = np.repeat([False, True], [600, 300])

    def caught(**ood):
        model = GDITDClassifier(backbone=small_backbone, max_epochs=20, random_state=0).fit(rows[::2], y[::2], **ood)
        return metrics.ood_auroc(is_ood[300:], model.ood_score(np.concatenate([rows[1::2], odd[30:]])))

    return caught(ood=odd[:30]) - caught()


def test_ood_rows_need_views_that_can_use_them():
    rows, y = blobs(np.random.default_rng(0), np.arange(3), 40)
    for settings in ({"preset": "paper"}, {"calibration": "cross"}, {"views": "zeta"}):
        with pytest.raises(ValueError, match="ood needs views"):
            GDITDClassifier(**settings).fit(rows, y, ood=rows[:3])


def test_views_need_split_calibration():
    rows, y = blobs(np.random.default_rng(0), np.arange(3), 40)
    with pytest.raises(ValueError, match="views='all' needs calibration"):
        GDITDClassifier(views="all", calibration="cross").fit(rows, y)
    with pytest.raises(ValueError, match='views must be "zeta", "few" or "all"'):
        GDITDClassifier(views="most").fit(rows, y)


def test_a_file_whose_weights_do_not_fit_its_views_is_refused(case, tmp_path, monkeypatch):
    model = case[0]
    tensors = model._tensors()
    tensors["fusion.weights"] = tensors["fusion.weights"][:-1]
    monkeypatch.setattr(type(model), "_tensors", lambda self: tensors)
    model.save(tmp_path / "model.gditd")
    monkeypatch.undo()
    with pytest.raises(ModelFileError):
        gditd.load(tmp_path / "model.gditd", backbone=small_backbone)


def test_the_forecast_of_recall_looks_at_the_rows_that_calibrate():
    """A class all over the place accepts nearly everything, however well the score tells rows apart."""
    rng = np.random.default_rng(2)
    known, y = blobs(rng, np.arange(4), 200)
    unseen, _ = blobs(rng, [N_CLASSES], 300)
    wild = 6.0 * rng.normal(size=(70, known.shape[1]))
    with_wild = np.concatenate([known, wild]), np.concatenate([y, np.full(len(wild), 9)])
    forecast, truth, auroc = {}, {}, {}
    for name, (rows, labels) in {"tame": (known, y), "wild": with_wild}.items():
        model = GDITDClassifier(backbone=small_backbone, max_epochs=20, random_state=0).fit(rows, labels)
        forecast[name] = model.summary()["forecast"]["recall"]
        auroc[name] = model.summary()["forecast"]["auroc"]
        truth[name] = (model.verdict(unseen)["verdict"] == "OOD").mean()
    assert forecast["tame"] > 0.95
    assert truth["tame"] > 0.95
    assert auroc["wild"] > 0.9
    assert truth["wild"] < 0.7
    assert forecast["wild"] < 0.7
