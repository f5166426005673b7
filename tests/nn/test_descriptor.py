from math import e, log

import pytest
import torch
from torch import nn
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

LOSSES = [PullLoss, ScoreLoss, DistanceFocalLoss, ScoreFocalLoss, GDITDLoss]


def head_with(centers, radii):
    centers = torch.tensor(centers, dtype=torch.float64)
    head = GaussianDescriptor(*centers.shape).double()
    with torch.no_grad():
        head.centers.copy_(centers)
        head.log_radii.copy_(torch.tensor(radii, dtype=torch.float64).log())
    return head


def test_distance_and_zeta_by_hand():
    head = head_with([[0, 0], [3, 4]], radii=[1, 2])
    points = torch.tensor([[0, 0], [3, 4], [1, 2]], dtype=torch.float64)
    # D_0 = |x|^2 / 2 + 2 log 1, D_1 = |x - (3, 4)|^2 / 8 + 2 log 2.
    # (0, 0): squares 0 and 9 + 16 = 25. (3, 4): 25 and 0. (1, 2): 1 + 4 = 5 and 4 + 4 = 8.
    expected = torch.tensor(
        [[0, 25 / 8 + 2 * log(2)], [25 / 2, 2 * log(2)], [5 / 2, 1 + 2 * log(2)]], dtype=torch.float64
    )
    description = head(points)
    assert isinstance(description, Description)
    torch.testing.assert_close(description.distance, expected)
    torch.testing.assert_close(description.zeta, torch.tensor([1.0, 2.0], dtype=torch.float64) - expected)
    torch.testing.assert_close(head.radii, torch.tensor([1.0, 2.0], dtype=torch.float64))


def test_a_new_head_has_radius_one_and_centres_apart():
    torch.manual_seed(0)
    head = GaussianDescriptor(4, 32)
    assert (head.radii == 1).all()
    gaps = torch.pdist(head.centers.detach())
    assert gaps.min() > 4  # sqrt(2 * 32) = 8 is what to expect


@pytest.mark.parametrize("training", [True, False])
def test_radii_are_never_below_one(training):
    head = head_with([[0.0], [0.0]], radii=[0.5, 3]).train(training)
    # D = (2 - 0)^2 / 2 with the radius at its bound of 1, and 4 / 18 + log 3.
    distance = head(torch.tensor([[2.0]], dtype=torch.float64)).distance
    torch.testing.assert_close(distance, torch.tensor([[2, 4 / 18 + log(3)]], dtype=torch.float64))
    torch.testing.assert_close(head.radii, torch.tensor([1.0, 3.0], dtype=torch.float64))


def test_training_mode_puts_log_radii_back_on_the_bound_and_evaluation_leaves_them():
    head = head_with([[0.0], [0.0]], radii=[0.5, 3])
    point = torch.zeros(1, 1, dtype=torch.float64)
    head.eval()(point)
    assert head.log_radii[0].item() == pytest.approx(log(0.5))
    head.train()(point)
    torch.testing.assert_close(head.log_radii.detach(), torch.tensor([0, log(3)], dtype=torch.float64))


def test_a_projected_radius_can_grow_again():
    head = head_with([[0.0]], radii=[0.5])
    far_row = torch.tensor([[3.0]], dtype=torch.float64)
    optimiser = torch.optim.SGD([head.log_radii], lr=0.1)
    head(far_row).distance.sum().backward()
    # dD / dlog(sigma) = d - |x - mu|^2 / sigma^2 = 1 - 9 at sigma = 1.
    assert head.log_radii.grad.item() == pytest.approx(-8)
    optimiser.step()
    assert head.radii.item() == pytest.approx(e**0.8)


def test_distance_is_not_negative_where_the_embedding_is_a_centre():
    torch.manual_seed(0)
    head = GaussianDescriptor(50, 8)
    with torch.no_grad():
        head.centers.mul_(300)  # squares of about 700,000, whose float32 rounding alone is 0.06
    distance = head(head.centers.detach()).distance
    assert (distance >= 0).all()
    assert distance.diagonal().max() < 1


def test_stacked_parameters_equal_a_loop_over_members():
    torch.manual_seed(0)
    heads = [GaussianDescriptor(3, 4).double() for _ in range(5)]
    for number, head in enumerate(heads):
        nn.init.constant_(head.log_radii, number / 4)
    points = torch.randn(5, 7, 4, dtype=torch.float64)
    stacked = {name: torch.stack([head.state_dict()[name] for head in heads]) for name in heads[0].state_dict()}
    together = functional_call(heads[0], stacked, (points,))
    assert together.distance.shape == (5, 7, 3)
    for member, head in enumerate(heads):
        alone = head(points[member])
        torch.testing.assert_close(together.distance[member], alone.distance)
        torch.testing.assert_close(together.zeta[member], alone.zeta)


def test_gradients_are_right():
    torch.manual_seed(0)
    head = GaussianDescriptor(3, 4).double().eval()

    def describe(points, centers, log_radii):
        return tuple(functional_call(head, {"centers": centers, "log_radii": log_radii}, (points,)))

    points, centers = torch.randn(5, 4, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)
    log_radii = torch.tensor([0.1, 0.5, 1.0], dtype=torch.float64)
    assert torch.autograd.gradcheck(describe, [t.requires_grad_() for t in (points, centers, log_radii)])


@pytest.mark.parametrize("size", [1e15, 1e20])
@pytest.mark.parametrize("loss", LOSSES)
def test_huge_embeddings_give_finite_losses_and_gradients(loss, size):
    torch.manual_seed(0)
    head = GaussianDescriptor(3, 16)
    embedding = (torch.randn(6, 16) * size).requires_grad_()
    value = loss()(head(embedding), torch.tensor([0, 1, 2, 0, 1, 2]))
    value.backward()
    assert value.isfinite()
    for gradient in (embedding.grad, head.centers.grad, head.log_radii.grad):
        assert gradient is None or gradient.isfinite().all()


def test_state_dict_round_trip():
    torch.manual_seed(0)
    source, target = GaussianDescriptor(3, 4), GaussianDescriptor(3, 4)
    nn.init.uniform_(source.log_radii, 0, 1)
    points = torch.randn(5, 4)
    assert not torch.equal(source(points).distance, target(points).distance)
    target.load_state_dict(source.state_dict())
    assert torch.equal(source(points).zeta, target(points).zeta)


@pytest.mark.parametrize(("n_classes", "dim"), [(0, 4), (-1, 4), (3, 0)])
def test_bad_sizes_are_refused(n_classes, dim):
    with pytest.raises(ValueError, match=f"n_classes and dim must be at least 1, got {n_classes} and {dim}"):
        GaussianDescriptor(n_classes, dim)


def test_repr_shows_the_sizes():
    assert repr(GaussianDescriptor(3, 4)) == "GaussianDescriptor(n_classes=3, dim=4)"
