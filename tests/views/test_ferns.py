"""Ferns: the same questions for every row, and what the answers of known rows make of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from gditd.views.ferns import (
    BACKED,
    CELLS,
    LARGEST,
    LEAST,
    MOST_ASKED,
    MOST_FERNS,
    QUESTIONS,
    STEPS,
    Ferns,
    candidates,
    empty_cells,
    entries_of,
    minus_log_shares,
)
from gditd.views.lesson import Lesson
from gditd.views.looks import fitting_names

N_FERNS = 9


def lesson(rows, codes):
    n_classes = codes.max() + 1
    return Lesson(None, torch.from_numpy(rows), codes, np.arange(n_classes), np.arange(rows.shape[1]), seed=0)


def strangeness(ferns, rows):
    return ferns.strangeness(torch.from_numpy(np.asarray(rows, dtype=np.float32)))


@pytest.fixture(scope="module")
def known():
    """Two columns that go together, one way in the first class and the other way in the second, and two of noise."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(900, 4)).astype(np.float32)
    codes = np.repeat([0, 1], [700, 200])
    rows[:, 1] = np.where(codes == 0, rows[:, 0], -rows[:, 0]) + 0.1 * rows[:, 1]
    return rows, codes


@pytest.fixture(scope="module")
def ferns(known):
    return Ferns.learn(lesson(*known), N_FERNS)


@pytest.fixture(scope="module")
def new():
    return 2.0 * np.random.default_rng(1).normal(size=(2_500, 4)).astype(np.float32)


def cell_of(ferns, fern, row):
    """The answers of one row, question by question."""
    cell = 0
    for feature, threshold in zip(ferns.features[fern], ferns.thresholds[fern], strict=True):
        cell = 2 * cell + int(not row[feature] <= threshold)
    return cell


def by_hand(ferns, known, row):
    """Both views of one row, from the known rows' own cells."""
    rows, codes = known
    unlikely, surprise = np.zeros(codes.max() + 1), 0.0
    for fern in range(len(ferns.counts)):
        cells = np.array([cell_of(ferns, fern, one) for one in rows])
        own = cell_of(ferns, fern, row)
        here = np.bincount(codes[cells == own], minlength=len(unlikely))
        everyone = (here.sum() + LEAST) / (len(rows) + LEAST)
        unlikely -= np.log((here + BACKED * everyone) / (np.bincount(codes) + BACKED))
        for left in range(QUESTIONS, 0, -1):
            came = np.count_nonzero(cells >> left == own >> left)
            if not np.count_nonzero(cells >> (left - 1) == own >> (left - 1)):
                surprise += np.log((came + 1) / 2)
                break
    return unlikely.min() / len(ferns.counts), surprise / len(ferns.counts)


def test_both_views_say_what_the_known_rows_answers_say(known, ferns, new):
    expected = [by_hand(ferns, known, row) for row in new[:12]]
    np.testing.assert_allclose(strangeness(ferns, new[:12]), expected, atol=1 / STEPS)
    assert np.ptp(expected, axis=0).min() > 0.3


@pytest.mark.parametrize("n_classes", [1, 6, 7, 8, 15, 16])
def test_any_number_of_classes_is_added_up_alike(n_classes):
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(40 * n_classes, 3)).astype(np.float32)
    ferns = Ferns.learn(lesson(rows, np.repeat(np.arange(n_classes), 40)), N_FERNS)
    new = rng.normal(size=(30, 3)).astype(np.float32)
    cells = [[cell_of(ferns, fern, row) for fern in range(N_FERNS)] for row in new]
    entries = ferns.first_entries + ferns.entry_of_cell[np.arange(N_FERNS), cells]
    said = ferns.values[entries].sum(axis=1)
    expected = np.column_stack([said[:, :-1].min(axis=1), said[:, -1]]) / (STEPS * N_FERNS)
    assert (strangeness(ferns, new) == expected).all()


def test_known_rows_surprise_nobody(known, ferns):
    assert (strangeness(ferns, known[0])[:, 1] == 0).all()


def test_columns_that_do_not_go_together_are_strange_though_each_is_familiar(known):
    rows, codes = known
    first = codes == 0
    ferns = Ferns.learn(lesson(rows[first], codes[first]), 64)
    usual, odd = rows[~first].copy(), rows[~first]
    usual[:, 1] = -usual[:, 1]
    familiar, strange = strangeness(ferns, usual), strangeness(ferns, odd)
    for view in range(2):
        assert np.median(strange[:, view]) > np.quantile(familiar[:, view], 0.9)


def test_what_is_far_away_is_the_strangest(known, ferns):
    far = np.array([[9.0, -9.0, 9.0, -9.0], [1e30, 1e30, -1e30, 1e30]])
    assert strangeness(ferns, far)[:, 0].min() > np.median(strangeness(ferns, known[0])[:, 0])
    assert np.isfinite(strangeness(ferns, far)).all()


def test_what_is_not_a_number_lies_above_every_threshold(ferns):
    odd, above = np.full((1, 4), np.nan), np.full((1, 4), np.inf)
    np.testing.assert_array_equal(strangeness(ferns, odd), strangeness(ferns, above))


def test_a_turn_that_nobody_took_is_worth_more_the_more_might_have():
    """Of a hundred rows all take the first turn to the left; of those, one takes the second to the right."""
    counts = np.zeros(CELLS, dtype=np.int64)
    counts[0], counts[CELLS // 4] = 99, 1
    starts, worths = empty_cells(counts)
    worth = dict(zip(starts.tolist(), worths.tolist(), strict=True))
    assert worth[CELLS // 2] == pytest.approx(np.log(101 / 2))
    assert worth[CELLS // 8] == pytest.approx(np.log(100 / 2))
    assert worth[CELLS // 4 + CELLS // 8] == 0
    assert len(starts) == 1 + 2 * (QUESTIONS - 2)


def test_a_class_of_few_rows_borrows_from_all():
    counts = np.array([[90, 0], [10, 0], [0, 2], [0, 0]])
    unlikely = minus_log_shares(counts)
    assert unlikely[0, 1] < unlikely[1, 1] < unlikely[3, 1]
    assert unlikely[2, 1] == unlikely[:, 1].min()
    assert unlikely[0, 0] == pytest.approx(-np.log(0.9), abs=0.01)


def test_entries_are_of_all_cells_and_in_order():
    rng = np.random.default_rng(0)
    cells, codes = rng.integers(CELLS, size=50).astype(np.int32), rng.integers(3, size=50)
    entries = entries_of(cells, codes, 3)
    assert entries.starts[0] == 0
    assert (np.diff(entries.starts.astype(int)) > 0).all()
    assert set(np.unique(cells)) <= set(entries.starts.tolist())
    assert (entries.values[np.isin(entries.starts, cells), 3] == 0).all()
    assert 0 <= entries.values.min() <= entries.values.max() < LARGEST


@pytest.mark.parametrize("n_rows", [0, 1, 255, 256, 257, 2_047, 2_048, 2_049])
def test_what_is_said_of_a_row_does_not_depend_on_its_company(ferns, new, n_rows):
    np.testing.assert_array_equal(strangeness(ferns, new[:n_rows]), strangeness(ferns, new)[:n_rows])


def test_the_same_seed_asks_the_same(known, ferns):
    again = Ferns.learn(lesson(*known), N_FERNS)
    np.testing.assert_array_equal(again.thresholds, ferns.thresholds)
    np.testing.assert_array_equal(again.values, ferns.values)


def test_all_rows_fill_the_cells_of_questions_that_some_have_chosen():
    rng = np.random.default_rng(0)
    rows, codes = rng.normal(size=(2 * MOST_ASKED, 2)).astype(np.float32), np.zeros(2 * MOST_ASKED, dtype=np.int64)
    ferns = Ferns.learn(lesson(rows, codes), 1)
    counts = np.unique([cell_of(ferns, 0, row) for row in rows], return_counts=True)[1]
    shares = (counts + (counts + LEAST) / (len(rows) + LEAST)) / (len(rows) + BACKED)
    known = ferns.values[ferns.values[:, 0] < ferns.values[:, 0].max(), 0]
    np.testing.assert_allclose(np.sort(known), np.sort(-STEPS * np.log(shares)), atol=0.51)


def test_questions_lie_between_values_of_rows():
    columns = np.array([[0.0, 1.0, 1.0, 5.0], [2.0, 2.0, 2.0, 2.0]], dtype=np.float32)
    for seed in range(20):
        features, thresholds = candidates(columns, np.random.default_rng(seed))
        if len(features) > 1 or features[0] == 0:  # else nothing was drawn that tells rows apart
            assert (features == 0).all()
            assert ((thresholds >= 0) & (thresholds < 5)).all()


@pytest.mark.parametrize(
    ("rows", "codes"),
    [
        pytest.param(np.ones((30, 3)), np.arange(30) % 2, id="all rows equal"),
        pytest.param(np.arange(6.0).reshape(2, 3), np.array([0, 1]), id="two rows"),
        pytest.param(
            np.random.default_rng(0).normal(size=(40, 1)), np.zeros(40, dtype=int), id="one column, one class"
        ),
        pytest.param(np.array([[1e38], [-1e38], [3e38]]), np.array([0, 0, 1]), id="huge"),
    ],
)
def test_odd_tables(rows, codes):
    ferns = Ferns.learn(lesson(rows.astype(np.float32), codes), 3)
    assert (strangeness(ferns, rows)[:, 1] == 0).all()
    assert np.isfinite(strangeness(ferns, -rows)).all()


def test_rows_of_another_width_are_refused(ferns):
    with pytest.raises(ValueError, match="4 features"):
        strangeness(ferns, np.zeros((2, 3)))


def test_ferns_come_back_from_their_state(ferns, new):
    again = Ferns.from_state(ferns.state(), 2)
    np.testing.assert_array_equal(strangeness(again, new), strangeness(ferns, new))


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        pytest.param("features", lambda features: features + 4, id="a feature too many"),
        pytest.param("features", lambda features: -features - 1, id="a feature below none"),
        pytest.param("features", lambda features: features[:, :-1], id="a question is missing"),
        pytest.param("thresholds", lambda thresholds: thresholds[:-1], id="a fern is missing"),
        pytest.param("thresholds", lambda thresholds: thresholds.double(), id="another type"),
        pytest.param("counts", lambda counts: counts[:-1], id="fewer ferns"),
        pytest.param("counts", lambda counts: counts[:0], id="no ferns"),
        pytest.param("counts", lambda counts: counts[:, None], id="two dimensions"),
        pytest.param("counts", lambda counts: counts + 2**62, id="more entries than there are"),
        pytest.param("counts", lambda counts: counts.roll(1) * 0, id="no entries"),
        pytest.param("starts", lambda starts: starts.flip(0), id="the wrong order"),
        pytest.param("starts", lambda starts: starts + 1, id="no entry for the first cell"),
        pytest.param("starts", lambda starts: starts[:-1], id="an entry is missing"),
        pytest.param("values", lambda values: values[:, :-1], id="a class is missing"),
        pytest.param("values", lambda values: -values, id="likelier than certain"),
        pytest.param("n_features", lambda n_features: n_features[:0], id="no width"),
    ],
)
def test_damaged_ferns_are_refused(ferns, name, damage):
    state = ferns.state()
    with pytest.raises(ValueError, match="fern"):
        Ferns.from_state(state | {name: damage(state[name])}, 2)


def test_more_ferns_than_a_sum_has_room_for_are_refused(ferns):
    many = MOST_FERNS // N_FERNS + 1
    state = {name: torch.cat([value] * (1 if name == "n_features" else many)) for name, value in ferns.state().items()}
    with pytest.raises(ValueError, match="1 to 512 ferns"):
        Ferns.from_state(state, 2)


def test_of_very_many_classes_there_are_no_ferns():
    names = ["zeta", "fern-likelihood", "fern-surprise"]
    assert fitting_names(names, width=5, n_classes=100) == names
    assert fitting_names(names, width=5, n_classes=101) == ["zeta"]


def test_cells_beyond_the_last_are_refused(ferns):
    starts = ferns.starts.copy()
    starts[-1] = CELLS
    with pytest.raises(ValueError, match="order"):
        Ferns.from_state(replace(ferns, starts=starts).state(), 2)
