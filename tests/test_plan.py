from __future__ import annotations

import numpy as np
import pytest

from gditd.calibration import merge_rare, too_few
from gditd.plan import ASIDE, MOST_HELD_OUT, enough_to_reject, in_full_steps, make_plan

TABLES = {
    "imbalanced": (1, 2, 3, 4, 7, 50, 201),
    "one class": (23,),
    "lonely": (1, 1, 1),
    "fewer rows than folds": (2, 1),
}


def plan_for(counts, calibration, n_members=5, seed=0, alpha=0.05):
    rng = np.random.RandomState(seed)
    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    return codes, make_plan(codes, calibration=calibration, n_members=n_members, alpha=alpha, rng=rng)


every_table = pytest.mark.parametrize("counts", TABLES.values(), ids=TABLES)
every_calibration = pytest.mark.parametrize("calibration", ["cross", "split", "none"])


@every_table
@every_calibration
def test_members_own_exactly_the_rows_outside_their_fold(counts, calibration):
    codes, plan = plan_for(counts, calibration)
    assert len(plan.members) == plan.shared_fold == 5
    assert plan.fold_of_row.shape == codes.shape
    for fold, member in enumerate(plan.members):
        assert member.rows.tolist() == np.flatnonzero(~np.isin(plan.fold_of_row, [fold, 5])).tolist()


@every_table
@every_calibration
def test_every_member_learns_every_class(counts, calibration):
    codes, plan = plan_for(counts, calibration)
    for member in plan.members:
        assert set(codes[member.rows]) == set(codes)


@every_table
def test_cross_deals_each_class_evenly_and_leaves_single_rows_in_training(counts):
    codes, plan = plan_for(counts, "cross")
    for c, count in enumerate(counts):
        folds = plan.fold_of_row[codes == c]
        if count == 1:
            assert folds.tolist() == [-1]
            continue
        sizes = np.bincount(folds, minlength=5)
        assert sizes.sum() == count
        assert sizes.max() - sizes.min() <= 1


def test_cross_spreads_small_classes_over_all_folds():
    _, plan = plan_for((2,) * 10, "cross")
    assert np.bincount(plan.fold_of_row).tolist() == [4] * 5


def calibrating(codes, plan):
    return np.bincount(codes[plan.calibrating], minlength=codes.max() + 1).tolist()


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((1, 2, 3, 4, 7, 40), [0, 1, 1, 2, 3, 12]),  # three in ten, never the last row
        ((1, 1, 1), [0, 0, 0]),
        ((23,), [7]),
        ((201, 900), [20, 80]),  # of 37 and 92 held out those that p-values can use
        ((201, 50, 50), [20, 10, 10]),  # of 15 and 15: together they can use 20
        ((201, 30, 60), [20, 6, 14]),  # of 9 and 24: as many rows for each of theirs
        ((201, *(2,) * 20, 30), [20, *(0,) * 9, *(1,) * 11, 9]),  # half of two are more than three in ten of thirty
        ((30_000,), [MOST_HELD_OUT]),
    ],
)
def test_split_holds_rows_of_each_class_out_of_all_members(counts, expected):
    codes, plan = plan_for(counts, "split")
    assert calibrating(codes, plan) == expected
    assert set(plan.fold_of_row) <= {-1, plan.shared_fold}


@pytest.mark.parametrize("counts", [(201, 50, 50), (35, 66, 70, 3_000), (100, 333, 1_000), (60, 60)])
@pytest.mark.parametrize("alpha", [0.15, 0.1, 0.05, 0.03, 0.02])
@pytest.mark.parametrize("fused", [True, False])
def test_as_many_false_alarms_as_are_allowed_are_used(counts, alpha, fused):
    """With one more row rejected, a class or group that calibrates by itself would be above alpha."""
    rng = np.random.RandomState(0)
    codes = np.repeat(np.arange(len(counts)), counts)
    plan = make_plan(codes, calibration="split", n_members=2, alpha=alpha, rng=rng, fused=fused)
    found = np.array(calibrating(codes, plan))
    groups = merge_rare(found, alpha)
    for group in np.unique(groups):
        own = found[groups == group]
        least = enough_to_reject(alpha)
        if own.sum() >= least and (len(own) == 1 or (own < least).all()):
            assert rejected_of(own.sum(), alpha) > rejected_of(own.sum() - 1, alpha)
            if 1 / alpha % 1 == 0:
                assert rejected_of(own.sum(), alpha) / own.sum() == pytest.approx(alpha, rel=1e-9)


def rejected_of(n_rows, alpha):
    """How many of so many rows have p-values below alpha among themselves."""
    return (np.arange(1, n_rows + 1) / (n_rows + 1) < alpha).sum()


@pytest.mark.parametrize("alpha", [0.9, 0.5, 0.3, 0.15, 0.12, 0.1, 0.08, 0.07, 0.05, 0.03, 0.02, 0.01, 0.005])
def test_steps_are_where_one_row_more_is_rejected(alpha):
    rejected = np.array([rejected_of(n, alpha) for n in range(700)])
    assert enough_to_reject(alpha) == np.flatnonzero(~too_few(np.arange(700), alpha))[0]
    for n in range(1, 700):
        step = in_full_steps(n, alpha)
        expected = n if rejected[n] == 0 else np.flatnonzero(rejected == rejected[n])[0]
        assert step == expected, n


def test_a_smaller_alpha_holds_out_more_rows_so_that_it_can_reject_any():
    held_out = [(plan_for((500,), "split", alpha=alpha)[1].fold_of_row == 5).sum() for alpha in (0.1, 0.05, 0.01)]
    assert held_out == [50, 60, 100]


@every_table
def test_none_lets_all_learn_from_everything(counts):
    codes, plan = plan_for(counts, "none")
    assert (plan.fold_of_row == -1).all()
    assert all(len(member.rows) == len(codes) for member in plan.members)


@every_calibration
def test_members_have_seeds_of_their_own_and_the_same_seed_gives_the_same_plan(calibration):
    _, plan = plan_for(TABLES["imbalanced"], calibration, n_members=8)
    _, again = plan_for(TABLES["imbalanced"], calibration, n_members=8)
    assert len({member.seed for member in plan.members}) == 8
    assert [member.seed for member in again.members] == [member.seed for member in plan.members]
    np.testing.assert_array_equal(again.fold_of_row, plan.fold_of_row)


@pytest.mark.parametrize(
    ("calibration", "fused", "counts"),
    [
        ("cross", False, (20,)),
        ("split", False, (20,)),
        ("split", False, (100, 40, 40)),  # the rare ones give rows back
        ("split", True, (100, 40, 40)),  # they are set aside from those held out
        ("split", True, (20,)),  # and from those taught
        ("split", True, (6,) * 5),
    ],
)
def test_each_row_of_a_class_calibrates_and_is_set_aside_as_often_as_the_others(calibration, fused, counts):
    """Tables are often sorted, by site or day: what calibrates must come from everywhere."""
    codes = np.repeat(np.arange(len(counts)), counts)
    times = {fold: np.zeros(len(codes)) for fold in (0 if calibration == "cross" else 2, ASIDE)}
    for seed in range(400):
        rng = np.random.RandomState(seed)
        plan = make_plan(codes, calibration=calibration, n_members=2, alpha=0.05, rng=rng, fused=fused)
        for fold, counted in times.items():
            counted[plan.fold_of_row == fold] += 1
    assert times[2 if calibration == "split" else 0].any()
    assert times[ASIDE].any() == fused
    for own in times.values():
        for c in range(len(counts)):
            shares = own[codes == c] / 400
            assert np.abs(shares - shares.mean()).max() < 0.11  # more than four standard errors


def test_one_member_cannot_cross():
    with pytest.raises(ValueError, match="n_members of at least 2"):
        plan_for((5, 5), "cross", n_members=1)


# --- for fused views ------------------------------------------------------------------------------------------


def fused_plan(counts, seed=0):
    rng = np.random.RandomState(seed)
    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    return codes, make_plan(codes, calibration="split", n_members=3, alpha=0.05, rng=rng, fused=True, most_left_out=6)


def test_rows_set_aside_teach_nobody_and_calibrate_nothing():
    _, plan = fused_plan((30, 400, 900))
    assert len(plan.aside) >= 20
    assert (plan.fold_of_row[plan.aside] == ASIDE).all()
    for member in [*plan.members, *plan.left_out.values()]:
        assert not np.isin(plan.aside, member.rows).any()
        assert not np.isin(np.flatnonzero(plan.fold_of_row == plan.shared_fold), member.rows).any()


@pytest.mark.parametrize(
    ("counts", "expected"), [((60, 60), [10, 10]), ((20, 40, 80), [6, 12, 20]), ((80,), [20]), ((40,), [12])]
)
def test_small_classes_keep_the_rows_that_calibrate_them(counts, expected):
    codes, plan = fused_plan(counts)
    assert calibrating(codes, plan) == expected
    assert len(plan.aside) > 0


@pytest.mark.parametrize("counts", [(5,) * 8, (4, 4, 4, 6, 9), (1, 1, 3, 3, 3, 4)])
def test_classes_of_a_handful_of_rows_give_a_row_each_to_the_scales(counts):
    codes, plan = fused_plan(counts)
    assert len(plan.aside) >= 3
    assert np.bincount(codes[plan.aside]).max() == 1
    assert set(codes[plan.taught]) == set(codes)


@pytest.mark.parametrize(("counts", "expected"), [((13, 13), 3), ((25,), 3), ((6,), 3), ((3, 2), 1), ((1, 1), 0)])
def test_one_or_two_small_classes_give_more_than_one_row_if_they_can(counts, expected):
    codes, plan = fused_plan(counts)
    assert len(plan.aside) == expected
    assert set(codes[plan.taught]) == set(codes)


def test_a_member_that_leaves_a_class_out_never_sees_it_nor_the_rows_it_is_compared_with():
    codes, plan = fused_plan((40, 200, 300, 5_000, 9_000))
    assert sorted(plan.left_out) == [0, 1, 2, 3, 4]
    for c, member in plan.left_out.items():
        assert set(codes[member.rows]) == {0, 1, 2, 3, 4} - {c}
        assert not np.isin(plan.compared, member.rows).any()
        assert len(member.rows) < 6_000
    assert np.isin(plan.compared, plan.members[0].rows).all()


def test_of_many_classes_some_are_left_out_the_rarest_and_the_largest_among_them():
    counts = tuple(range(40, 400, 20))
    _, plan = fused_plan(counts)
    assert len(plan.left_out) == 6
    assert {0, len(counts) - 1} <= set(plan.left_out)


@pytest.mark.parametrize("counts", [(500,), (500, 500), (5, 6, 7), (1, 1, 1)])
def test_none_is_left_out_where_nothing_could_be_compared(counts):
    assert not fused_plan(counts)[1].left_out
