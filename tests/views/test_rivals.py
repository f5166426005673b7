"""A row between two classes belongs to neither, however near it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gditd.nn.descriptor import squared_distances
from gditd.training.cohort import Seen
from gditd.views.base import LANES
from gditd.views.clusters import ROWS_EACH, Clusters
from gditd.views.lesson import Lesson
from gditd.views.rivals import NEAREST, ColumnRivals, DrawnInRivals, principal_axes, repeated

CENTERS = np.array([[-0.8, 0, 0, 0], [0.8, 0, 0, 0], [0, 1.2, 0, 0]])
SPREAD = 0.2


class Members:
    """What a view of columns asks of a cohort."""

    def through_lens(self, rows):
        return rows


def lesson(rows, codes):
    n_classes = codes.max() + 1
    rows = torch.from_numpy(rows).float()
    return Lesson(Members(), rows, codes, np.arange(n_classes), np.arange(rows.shape[1]), seed=0)


def look(view, rows):
    inputs = torch.from_numpy(np.asarray(rows)).float()
    return view.scores(Seen(inputs, Members()))[:, 0].numpy()


@pytest.fixture(scope="module")
def known():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [900, 300, 12])
    return CENTERS[codes] + rng.normal(scale=SPREAD, size=(len(codes), 4)), codes


@pytest.fixture(scope="module", params=[ColumnRivals, DrawnInRivals])
def view(request, known):
    return request.param.learn(lesson(*known))


def test_a_row_between_two_classes_is_strange_and_one_inside_a_class_is_not(view):
    inside, between = look(view, CENTERS), look(view, (CENTERS + np.roll(CENTERS, 1, axis=0)) / 2)
    assert inside.max() < 0.1
    assert between.min() > 2 * inside.max()


def test_a_row_far_from_everything_may_be_like_one_class_only(view):
    near, far = look(view, [[-1.2, 0, 0, 0], [-1.2, 18.0, 18.0, 18.0]])
    assert near < 0.1
    assert far > 0.8


def test_no_value_counts_as_further_out_than_it_may(known):
    view, farthest = DrawnInRivals.learn(lesson(*known)), DrawnInRivals.farthest
    rows = np.array([[-0.7, farthest, 0.1, 0.0], [0.2, 0.3, -farthest, 0.1]])
    np.testing.assert_array_equal(look(view, rows), look(view, np.where(np.abs(rows) == farthest, 1e3 * rows, rows)))
    assert not np.array_equal(look(view, rows), look(view, 0.9 * rows))


def test_the_score_is_the_share_of_two_squared_distances(known, view):
    rows = torch.from_numpy(known[0][::7]).float()
    points = (view.drawn_in(rows) @ view.axes - view.origin).double()
    nearest = torch.stack([squared_distances(points, own.double()).amin(1) for own in view.prototypes], dim=1)
    first, second = (nearest.sort(dim=1).values[:, :2] + NEAREST).T
    np.testing.assert_allclose(look(view, known[0][::7]), first / second, rtol=1e-4)


def test_absurd_rows_have_a_finite_score(view):
    found = look(view, [[1e6] * 4, [-1e6, 1e6, -1e6, 1e6], [1e19] * 4])
    assert np.isfinite(found).all()
    assert ((found >= 0) & (found <= 1)).all()


def test_it_comes_back_from_its_state_to_the_bit(known, view):
    again = type(view).from_state({name: value.clone() for name, value in view.state().items()})
    np.testing.assert_array_equal(look(again, known[0]), look(view, known[0]))
    assert all(tensor.is_contiguous() for tensor in view.state().values())


@pytest.mark.parametrize(
    "harm",
    [
        lambda axes, origin, prototypes: (axes.double(), origin, prototypes),
        lambda axes, origin, prototypes: (axes, origin, prototypes[0]),
        lambda axes, origin, prototypes: (axes, origin, prototypes[:1]),
        lambda axes, origin, prototypes: (axes, origin, prototypes[:, :0]),
        lambda axes, origin, prototypes: (axes[:, :-1], origin[:-1], prototypes[:, :, :-1]),
        lambda axes, origin, prototypes: (axes[:, :0], origin, prototypes),
        lambda axes, origin, prototypes: (axes, origin[:-1], prototypes),
    ],
)
def test_what_the_compiled_search_would_look_beside_is_refused(view, harm):
    tensors = dict(zip(("axes", "origin", "prototypes"), harm(*view.state().values()), strict=True))
    with pytest.raises(ValueError, match="of rivals"):
        ColumnRivals.from_state(tensors)


def test_prototypes_of_a_few_classes_fill_lanes_and_of_many_there_are_no_more_than_needed():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(900, 4))
    few, many = (DrawnInRivals.learn(lesson(rows, np.arange(900) % n_classes)) for n_classes in (3, 90))
    assert few.prototypes.shape[1] % LANES == 0
    assert many.prototypes.shape[1] < LANES


def test_axes_along_which_rows_differ_more_count_for_more_but_not_in_proportion():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5_000, 3)) * [25.0, 1.0, 1e-4]
    axes, origin = principal_axes(rows + 7.0, 64, seed=0)
    points = (rows + 7.0) @ axes.double().numpy() - origin.double().numpy()
    np.testing.assert_allclose(points.std(axis=0)[:2], [5.0, 1.0], rtol=0.05)
    assert (points[:, 2:] == 0).all()  # along the third, rows hardly differ at all
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=0.01)


def test_wide_tables_have_some_axes_only():
    rng = np.random.default_rng(0)
    axes, _ = principal_axes(rng.normal(size=(300, 104)), 64, seed=0)
    assert axes.shape == (104, 64)


def test_copies_of_a_prototype_change_no_smallest_distance():
    prototypes = torch.arange(6.0).view(1, 3, 2)
    more = repeated(prototypes, 5)
    assert more.shape == (1, 5, 2)
    assert {tuple(one) for one in more[0].tolist()} == {tuple(one) for one in prototypes[0].tolist()}


@pytest.mark.parametrize("on_sphere", [False, True])
def test_prototypes_are_means_of_several_rows_and_none_is_a_row(on_sphere):
    """Twenty rows in two heaps, and one far from both: a prototype of its own would give it away."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(10, 3)) + 9, rng.normal(size=(10, 3)) - 9, [[60.0, -60.0, 0.0]]])
    points = torch.from_numpy(rows).float()
    if on_sphere:
        points = torch.nn.functional.normalize(points, dim=-1)
    (found,) = Clusters(6, on_sphere=on_sphere).of_classes(points[None], np.zeros(21, dtype=int), 1, rng)
    assert found.shape[1] <= 21 // ROWS_EACH
    assert squared_distances(found[0].double(), points.double()).min() > 1e-6
    if on_sphere:
        np.testing.assert_allclose(found.norm(dim=-1), 1, rtol=1e-5)


def test_each_class_has_its_share_of_the_prototypes_and_one_at_least():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [100, 9, 1])
    points = torch.from_numpy(rng.normal(size=(2, 110, 3))).float()
    found = Clusters(30).of_classes(points, codes, 3, rng)
    assert [own.shape for own in found] == [(2, 10, 3), (2, 3, 3), (2, 1, 3)]
    torch.testing.assert_close(found[2], points[:, 109:])  # there is nothing else to take the mean of


def test_heaps_of_a_class_have_prototypes_where_they_are():
    rng = np.random.default_rng(0)
    heaps = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]])
    rows = np.repeat(heaps, 60, axis=0) + rng.normal(size=(180, 2))
    (found,) = Clusters(12).of_classes(torch.from_numpy(rows[None]).float(), np.zeros(180, dtype=int), 1, rng)
    distances = squared_distances(torch.from_numpy(heaps), found[0].double()).amin(1).sqrt()
    assert distances.max() < 1.5


@pytest.mark.parametrize("view", [ColumnRivals, DrawnInRivals])
@pytest.mark.parametrize("n_rows", [2, 30])
def test_rows_that_are_all_alike_are_no_fault(view, n_rows):
    rows = np.ones((n_rows, 3))
    found = look(view.learn(lesson(rows, np.arange(n_rows) % 2)), np.concatenate([rows[:2], np.full((1, 3), 5.0)]))
    assert np.isfinite(found).all()
