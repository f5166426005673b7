from math import e, exp, log

import pytest
import torch
from torch.func import functional_call

from gditd.nn import (
    Description,
    DistanceFocalLoss,
    GaussianDescriptor,
    GDITDLoss,
    PullLoss,
    ScoreFocalLoss,
    ScoreLoss,
)
from gditd.nn.losses import DISTANCE_OFFSET, effective_weights

FOCAL_LOSSES = [DistanceFocalLoss, ScoreFocalLoss]
BETAS = ["paper", "effective", 0.9]
# One of each kind of loss, ready to be called.
LOSSES = {
    "pull": PullLoss(),
    "score": ScoreLoss(push=0.7),
    "efl1": DistanceFocalLoss(gamma=2, beta="effective"),
    "efl2": ScoreFocalLoss(gamma=1, beta=0.9),
    "efl2 with the paper's beta": ScoreFocalLoss(gamma=0, beta="paper"),
    "net": GDITDLoss(pull=0.5, score=2, gamma=2, beta="effective", reduction="mean"),
}
each_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())


def double(values):
    return torch.tensor(values, dtype=torch.float64)


def describe(distance, radii):
    distance = double(distance)
    return Description(distance, double(radii) - distance)


def random_description(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    distance = torch.rand(*shape, generator=generator, dtype=torch.float64) * 4 + 0.2
    return Description(distance.requires_grad_(), (2 - distance.detach()).requires_grad_())


def select(description, *index):
    return Description(*(tensor.detach()[index].requires_grad_() for tensor in description))


def gradients(loss, description, y, **masks):
    value = loss(description, y, **masks)
    slopes = torch.autograd.grad(value.sum(), description, allow_unused=True, materialize_grads=True)
    return value.detach(), *slopes


# Two rows and three classes: zeta = sigma - D is (0.5, 0, -3) and (-2, 1, -1).
BY_HAND = describe([[0.5, 2, 4], [3, 1, 2]], radii=[1, 2, 1])
LABELS = torch.tensor([0, 2])


# --- pull -------------------------------------------------------------------------------------------------


def test_pull_is_the_distance_to_the_own_class():
    # D_y is 0.5 and 2.
    assert PullLoss()(BY_HAND, LABELS).item() == pytest.approx(2.5)
    assert PullLoss(reduction="mean")(BY_HAND, LABELS).item() == pytest.approx(1.25)


# --- score ------------------------------------------------------------------------------------------------

# Other classes: e^0 + e^-3 and e^-2 + e^1, each over the batch size 2.
OTHERS = (1 + exp(-3) + exp(-2) + e) / 2
# Own classes: zeta = 0.5 gives log(1 + 0.25); zeta = -1 gives 1 + log(1 + 1).
OWN = log(1.25) + 1 + log(2)


@pytest.mark.parametrize("push", [0, 0.3, 1])
def test_score_by_hand(push):
    assert ScoreLoss(push=push)(BY_HAND, LABELS).item() == pytest.approx(push * OTHERS + OWN)
    mean = ScoreLoss(push=push, reduction="mean")(BY_HAND, LABELS).item()
    assert mean == pytest.approx((push * OTHERS + OWN) / 2)


def test_a_large_own_score_does_not_drown_the_others_in_float32():
    zeta = torch.tensor([[19.0, -3.0]])
    loss = ScoreLoss()(Description(torch.zeros_like(zeta), zeta), torch.tensor([0]))
    assert loss.item() == pytest.approx(exp(-3) + log(1 + 19**2), rel=1e-6)


def test_the_exponential_goes_on_as_a_straight_line_beyond_twenty():
    zeta = double([[0.0, 22.0]]).requires_grad_()
    loss = ScoreLoss()(Description(zeta.detach(), zeta), torch.tensor([0]))
    loss.backward()
    # The own zeta of 0 adds log(1 + 0) = 0. The tangent of exp at 20 is e^20 (1 + (22 - 20)), its slope e^20.
    assert loss.item() == pytest.approx(3 * exp(20))
    assert zeta.grad[0, 1].item() == pytest.approx(exp(20))


# --- effective focal --------------------------------------------------------------------------------------

# exp gives (6, 2, 2) and (2, 3, 5), so the softmax is (0.6, 0.2, 0.2) and (0.2, 0.3, 0.5): p_y = 0.6 and 0.5.
LOGITS = double([[log(6), log(2), log(2)], [log(2), log(3), log(5)]])


def with_logits(loss, logits):
    """A description whose softmax is taken over the given numbers, whichever focal loss asks."""
    if isinstance(loss, DistanceFocalLoss):
        return Description(1 / logits - DISTANCE_OFFSET, torch.full_like(logits, torch.nan))
    return Description(torch.full_like(logits, torch.nan), logits)


@pytest.mark.parametrize("kind", FOCAL_LOSSES)
@pytest.mark.parametrize(
    ("gamma", "expected"),
    [
        (0, -log(0.6) - log(0.5)),
        (0.5, -(0.4**0.5) * log(0.6) - 0.5**0.5 * log(0.5)),
        (1, -0.4 * log(0.6) - 0.5 * log(0.5)),
        (2, -0.16 * log(0.6) - 0.25 * log(0.5)),
        (3, -0.064 * log(0.6) - 0.125 * log(0.5)),
    ],
)
def test_focal_by_hand(kind, gamma, expected):
    # One row of each class in the batch: every weight is 1 for every beta.
    for beta in BETAS:
        loss, mean = kind(gamma=gamma, beta=beta), kind(gamma=gamma, beta=beta, reduction="mean")
        assert loss(with_logits(loss, LOGITS), LABELS).item() == pytest.approx(expected)
        assert mean(with_logits(mean, LOGITS), LABELS).item() == pytest.approx(expected / 2)


def test_the_first_focal_loss_is_over_one_over_d():
    # 1/D = (2, 0.5): p_0 = 1 / (1 + e^-1.5). The offset that keeps 1/D finite moves it by less than 1e-3.
    loss = DistanceFocalLoss(gamma=0)(describe([[0.5, 2]], radii=[1, 1]), torch.tensor([0]))
    assert loss.item() == pytest.approx(log(1 + exp(-1.5)), rel=1e-3)


def test_the_second_focal_loss_is_over_zeta():
    # zeta = (0.5, 0, -3).
    loss = ScoreFocalLoss(gamma=0)(select(BY_HAND, slice(0, 1)), torch.tensor([0]))
    assert loss.item() == pytest.approx(log(1 + exp(-0.5) + exp(-3.5)))


@pytest.mark.parametrize(
    ("beta", "common", "rare"),
    [
        # Four rows, three of the common class. beta = 1/4: (3/4) / (1 - 1/64) = 16/21, and 1.
        ("paper", 16 / 21, 1),
        # beta = 3/4: (1/4) / (1 - 27/64) = 16/37, and 1; their mean over the batch is (48/37 + 1) / 4 = 85/148.
        ("effective", 64 / 85, 148 / 85),
        # beta = 1/2: (1/2) / (1 - 1/8) = 4/7, and 1; their mean is (12/7 + 1) / 4 = 19/28.
        (0.5, 16 / 19, 28 / 19),
        (0, 1, 1),
        # beta -> 1: 1/3 and 1, with mean 1/2. In float32 this beta would be 1 and the weights 0/0.
        (1 - 1e-9, 2 / 3, 2),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_effective_weights_by_hand(beta, common, rare, dtype):
    y = torch.tensor([0, 0, 1, 0])
    weights = effective_weights(y, torch.ones(4, dtype=dtype), 3, beta)
    torch.testing.assert_close(weights, torch.tensor([common, common, rare, common], dtype=dtype))


@pytest.mark.parametrize("kind", FOCAL_LOSSES)
def test_every_row_gets_the_weight_of_its_class(kind):
    # exp gives (1, 1) for the common class and (3, 1) for the row of the rare one: p_y is 1/2, 1/2, 1/2 and 1/4.
    logits = double([[1, 1], [1, 1], [1, 1], [1 + log(3), 1]])
    y = torch.tensor([0, 0, 0, 1])
    loss = kind(gamma=0, beta="effective")
    assert loss(with_logits(loss, logits), y).item() == pytest.approx(3 * 64 / 85 * log(2) + 148 / 85 * log(4))


@pytest.mark.parametrize("beta", ["effective", 0.9, 0.5])
def test_weights_have_mean_one_over_the_real_rows(beta):
    y = torch.tensor([[0, 1, 1, 2, 2, 2, 2], [0, 0, 0, 0, 1, 2, 2]])
    rows = double([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0, 0]])
    weights = effective_weights(y, rows, 3, beta)
    torch.testing.assert_close((weights * rows).sum(-1), rows.sum(-1))
    assert weights[0, 0] > weights[0, 1] > weights[0, 3]  # the rarer the class, the heavier its rows


@pytest.mark.parametrize("beta", BETAS)
def test_a_batch_of_one_row_weighs_one(beta):
    assert effective_weights(torch.tensor([1]), double([1]), 3, beta).item() == pytest.approx(1)


@pytest.mark.parametrize("beta", BETAS)
def test_a_batch_of_one_class_weighs_evenly(beta):
    weights = effective_weights(torch.tensor([1, 1, 1]), double([1, 1, 1]), 3, beta)
    # The paper's weights are not scaled to mean 1: (2/3) / (1 - 1/27) = 9/13.
    torch.testing.assert_close(weights, torch.full_like(weights, 9 / 13 if beta == "paper" else 1))


# --- the net loss -----------------------------------------------------------------------------------------


def test_the_net_loss_is_the_weighted_sum_of_the_four():
    description, y = random_description(6, 3), torch.tensor([0, 0, 0, 0, 1, 2])
    parts = {
        "pull": PullLoss(),
        "score": ScoreLoss(push=0.3),
        "efl1": DistanceFocalLoss(gamma=2, beta="effective"),
        "efl2": ScoreFocalLoss(gamma=2, beta="effective"),
    }
    values = {name: part(description, y) for name, part in parts.items()}
    options = {"gamma": 2, "beta": "effective", "push": 0.3}
    zero = dict.fromkeys(parts, 0.0)
    for name, value in values.items():
        torch.testing.assert_close(GDITDLoss(**(zero | {name: 1.5}), **options)(description, y), 1.5 * value)
    weights = {"pull": 0.5, "score": 2.0, "efl1": 3.0, "efl2": 0.25}
    expected = sum(weights[name] * value for name, value in values.items())
    torch.testing.assert_close(GDITDLoss(**weights, **options)(description, y), expected)
    torch.testing.assert_close(
        GDITDLoss(**weights, gamma=2, beta="effective")(description, y),
        expected + weights["score"] * (ScoreLoss()(description, y) - values["score"]),
    )


@each_loss
def test_gradients_are_right(loss):
    torch.manual_seed(0)
    head = GaussianDescriptor(3, 2).double().eval()
    y = torch.tensor([0, 0, 1, 2, 0])

    def value(points, centers, log_radii):
        return loss(functional_call(head, {"centers": centers, "log_radii": log_radii}, (points,)), y)

    inputs = torch.randn(5, 2, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64), double([0.1, 0.4, 0.8])
    assert torch.autograd.gradcheck(value, [tensor.requires_grad_() for tensor in inputs])


@each_loss
def test_stacked_members_equal_a_loop(loss):
    description = random_description(4, 6, 3)
    y = torch.randint(3, (4, 6), generator=torch.Generator().manual_seed(1))
    together = loss(description, y)
    assert together.shape == (4,)
    for member in range(4):
        torch.testing.assert_close(together[member], loss(select(description, member), y[member]))


# --- few classes and few rows -----------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0, 0.5, 1, 2])
def test_with_a_single_class_only_pull_and_own_score_are_left(gamma):
    description = describe([[0.5], [3]], radii=[2])
    for tensor in description:
        tensor.requires_grad_()
    value, by_distance, by_zeta = gradients(GDITDLoss(gamma=gamma), description, torch.tensor([0, 0]))
    # Pull: 0.5 + 3. Own zeta 1.5 gives log(1 + 2.25); own zeta -1 gives 1 + log 2. There is nobody to push.
    assert value.item() == pytest.approx(3.5 + log(3.25) + 1 + log(2))
    torch.testing.assert_close(by_distance, double([[1], [1]]))
    # 2 zeta / (1 + zeta^2), less 1 where zeta is negative: 3 / 3.25 and -1 - 1.
    torch.testing.assert_close(by_zeta, double([[3 / 3.25], [-2]]))


def test_two_classes_by_hand():
    description = describe([[1, 2]], radii=[2, 2])
    # zeta = (1, 0). Pull 1, push e^0 / 1, own log 2; the focal p are 1 / (1 + e^-0.5) and 1 / (1 + e^-1), gamma 0.
    expected = 1 + 1 + log(2) + log(1 + exp(-0.5)) + log(1 + exp(-1))
    assert GDITDLoss(gamma=0)(description, torch.tensor([0])).item() == pytest.approx(expected, rel=1e-4)


@each_loss
@pytest.mark.parametrize("n_rows", [1, 4])
def test_a_batch_of_only_one_class_has_finite_losses_and_gradients(loss, n_rows):
    results = gradients(loss, random_description(n_rows, 3), torch.ones(n_rows, dtype=torch.int64))
    assert all(result.isfinite().all() for result in results)


def test_a_class_without_rows_is_still_pushed_away():
    description, y = random_description(4, 3), torch.tensor([0, 1, 0, 1])
    for loss in (ScoreLoss(), ScoreFocalLoss(beta="effective")):
        _, _, by_zeta = gradients(loss, description, y)
        assert (by_zeta[:, 2] > 0).all()
    _, by_distance, _ = gradients(PullLoss(), description, y)
    assert (by_distance[:, 2] == 0).all()


@each_loss
@pytest.mark.parametrize("own", [0, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_on_a_centre_have_finite_losses_and_gradients(loss, own, dtype):
    distance = torch.tensor([[0, 3], [1e-30, 3], [1e-5, 3]], dtype=dtype)
    description = Description(distance.requires_grad_(), (1 - distance.detach()).requires_grad_())
    results = gradients(loss, description, torch.full((3,), own))
    assert all(result.isfinite().all() for result in results)


def test_a_row_on_its_own_centre_is_sure_of_its_class():
    loss = DistanceFocalLoss(gamma=0)
    assert loss(describe([[0, 3]], radii=[1, 1]), torch.tensor([0])).item() == pytest.approx(0, abs=1e-12)
    # On the other class's centre log p is -(1/offset - 1/3), near enough.
    assert loss(describe([[0, 3]], radii=[1, 1]), torch.tensor([1])).item() == pytest.approx(
        1 / DISTANCE_OFFSET, rel=1e-3
    )


# --- masks ------------------------------------------------------------------------------------------------


@each_loss
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int64, torch.bool])
def test_padding_changes_nothing(loss, dtype):
    y = torch.tensor([0, 1, 1, 2, 2, 2, 2])
    whole = random_description(7, 3)
    with torch.no_grad():
        whole.distance[4:] *= 1e6
        whole.zeta[4:] -= 1e6
    rows = torch.tensor([1, 1, 1, 1, 0, 0, 0]).to(dtype)
    value, *slopes = gradients(loss, whole, y, rows=rows)
    expected, *expected_slopes = gradients(loss, select(whole, slice(4)), y[:4])
    torch.testing.assert_close(value, expected)
    for slope, expected_slope in zip(slopes, expected_slopes, strict=True):
        torch.testing.assert_close(slope[:4], expected_slope)
        assert (slope[4:] == 0).all()


@each_loss
def test_absent_classes_equal_a_head_without_them(loss):
    whole = random_description(5, 4)
    present = torch.tensor([True, False, True, False])
    value, *slopes = gradients(loss, whole, torch.tensor([0, 2, 2, 2, 0]), present=present)
    expected, *expected_slopes = gradients(loss, select(whole, slice(None), present), torch.tensor([0, 1, 1, 1, 0]))
    torch.testing.assert_close(value, expected)
    for slope, expected_slope in zip(slopes, expected_slopes, strict=True):
        torch.testing.assert_close(slope[:, present], expected_slope)
        assert (slope[:, ~present] == 0).all()


@each_loss
def test_padding_may_carry_the_label_of_an_absent_class(loss):
    whole, present = random_description(5, 3), torch.tensor([True, True, False])
    value, *slopes = gradients(
        loss, whole, torch.tensor([0, 1, 1, 2, 2]), rows=double([1, 1, 1, 0, 0]), present=present
    )
    expected, *_ = gradients(loss, select(whole, slice(3)), torch.tensor([0, 1, 1]), present=present)
    torch.testing.assert_close(value, expected)
    assert all((slope[3:] == 0).all() for slope in slopes)


@each_loss
def test_a_batch_of_nothing_but_padding_costs_nothing(loss):
    results = gradients(loss, random_description(3, 3), torch.tensor([0, 1, 2]), rows=double([0, 0, 0]))
    assert all((result == 0).all() for result in results)


# --- bad arguments ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PullLoss(reduction="none"), "reduction must be .* got 'none'"),
        (lambda: GDITDLoss(reduction="max"), "reduction must be .* got 'max'"),
        (lambda: ScoreLoss(push=-1), "push must be at least 0, got -1"),
        (lambda: ScoreFocalLoss(gamma=-0.5), "gamma must be at least 0, got -0.5"),
        (lambda: DistanceFocalLoss(beta="cui"), "beta must be .* got 'cui'"),
        (lambda: DistanceFocalLoss(beta=1.0), "beta must be .* got 1.0"),
        (lambda: DistanceFocalLoss(beta=-0.1), "beta must be .* got -0.1"),
        (lambda: GDITDLoss(beta=None), "beta must be .* got None"),
        (lambda: GDITDLoss(pull=-1), "pull"),
        (lambda: GDITDLoss(pull=0, score=0, efl1=0, efl2=0), "one of pull, score, efl1 and efl2 above 0"),
    ],
)
def test_bad_arguments_are_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()
