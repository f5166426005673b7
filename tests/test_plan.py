from __future__ import annotations

import numpy as np
import pytest

from gditd.plan import ASIDE, MOST_HELD_OUT, SHARE_BEYOND, SHARE_HELD_OUT, make_plan

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


@every_table
def test_split_holds_a_share_of_each_class_out_of_all_members(counts):
    codes, plan = plan_for(counts, "split")
    for c, count in enumerate(counts):
        held_out = (plan.fold_of_row[codes == c] == plan.shared_fold).sum()
        assert held_out == min(np.ceil(min(SHARE_HELD_OUT * count, 20 + SHARE_BEYOND * count)), count - 1)
    assert set(plan.fold_of_row) <= {-1, plan.shared_fold}


def test_no_class_holds_out_more_rows_than_p_values_need():
    _, plan = plan_for((30_000,), "split")
    assert (plan.fold_of_row == plan.shared_fold).sum() == MOST_HELD_OUT


def test_a_smaller_alpha_holds_out_more_rows_so_that_it_can_reject_any():
    held_out = [(plan_for((500,), "split", alpha=alpha)[1].fold_of_row == 5).sum() for alpha in (0.1, 0.05, 0.01)]
    assert held_out == [50, 60, 140]


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


@pytest.mark.parametrize("calibration", ["cross", "split"])
def test_which_rows_calibrate_is_random(calibration):
    times_held_out = np.zeros(20)
    fold = 0 if calibration == "cross" else 2
    for seed in range(300):
        _, plan = plan_for((20,), calibration, n_members=2, seed=seed)
        times_held_out += plan.fold_of_row == fold
    share = 0.5 if calibration == "cross" else SHARE_HELD_OUT
    assert np.abs(times_held_out / 300 - share).max() < 0.15


def test_one_member_cannot_cross():
    with pytest.raises(ValueError, match="n_members of at least 2"):
        plan_for((5, 5), "cross", n_members=1)


# --- for fused views ------------------------------------------------------------------------------------------


def fused_plan(counts, seed=0):
    rng = np.random.RandomState(seed)
    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    return codes, make_plan(codes, calibration="split", n_members=3, alpha=0.05, rng=rng, fused=True)


def test_rows_set_aside_teach_nobody_and_calibrate_nothing():
    _, plan = fused_plan((30, 400, 900))
    assert len(plan.aside) >= 20
    assert (plan.fold_of_row[plan.aside] == ASIDE).all()
    for member in [*plan.members, *plan.left_out.values()]:
        assert not np.isin(plan.aside, member.rows).any()
        assert not np.isin(np.flatnonzero(plan.fold_of_row == plan.shared_fold), member.rows).any()


@pytest.mark.parametrize("counts", [(60, 60), (20, 40, 80), (80,)])
def test_small_classes_keep_all_rows_that_calibrate_them(counts):
    codes, plan = fused_plan(counts)
    calibrating = np.bincount(codes[plan.fold_of_row == plan.shared_fold])
    assert calibrating.tolist() == [int(np.ceil(SHARE_HELD_OUT * count)) for count in counts]
    assert len(plan.aside) > 0


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
