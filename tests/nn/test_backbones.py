import pytest
import torch
from torch import nn
from torch.func import functional_call

from gditd.nn import MLP, ResidualMLP, StackableLinear

NETWORKS = {
    "MLP": lambda: MLP(5, widths=(7, 6, 4)),
    "one-layer MLP": lambda: MLP(5, widths=(4,)),
    "ResidualMLP": lambda: ResidualMLP(5, width=4, n_blocks=2),
}
each_network = pytest.mark.parametrize("make", NETWORKS.values(), ids=NETWORKS.keys())


@each_network
def test_maps_rows_to_embeddings(make):
    assert make()(torch.zeros(3, 5)).shape == (3, 4)


def test_the_defaults_are_the_papers_widths():
    assert [tuple(layer.weight.shape) for layer in MLP(9).layers] == [(9, 128), (128, 128), (128, 128)]
    assert ResidualMLP(9)(torch.zeros(2, 9)).shape == (2, 128)


@each_network
def test_the_last_layer_is_linear(make):
    torch.manual_seed(0)
    embedding = make()(torch.randn(200, 5))
    assert (embedding < 0).any()
    assert (embedding > 0).any()
    assert (embedding != 0).all()


@each_network
def test_stacked_members_equal_a_loop(make):
    torch.manual_seed(0)
    networks = [make().double() for _ in range(3)]
    for network in networks:
        for parameter in network.parameters():
            nn.init.normal_(parameter)
    x = torch.randn(3, 8, 5, dtype=torch.float64)
    stacked = {
        name: torch.stack([network.state_dict()[name] for network in networks]).requires_grad_()
        for name in networks[0].state_dict()
    }
    assert networks[0].stackable
    together = functional_call(networks[0], stacked, (x,))
    slopes = dict(zip(stacked, torch.autograd.grad(together.square().sum(), stacked.values()), strict=True))
    for member, network in enumerate(networks):
        alone = network(x[member])
        torch.testing.assert_close(together[member], alone)
        alone.square().sum().backward()
        for name, parameter in network.named_parameters():
            torch.testing.assert_close(slopes[name][member], parameter.grad)


def test_mlp_by_hand():
    network = MLP(2, widths=(2, 1))
    first, last = network.layers
    with torch.no_grad():
        first.weight.copy_(torch.tensor([[1.0, -1.0], [2.0, 0.0]]))
        first.bias.copy_(torch.tensor([0.5, 1.0]))
        last.weight.copy_(torch.tensor([[-3.0], [10.0]]))
        last.bias.copy_(torch.tensor([4.0]))
    # x = (2, 1): first layer 2 + 2 + 0.5 = 4.5 and -2 + 0 + 1 = -1, ReLU leaves 4.5 and 0; -13.5 + 0 + 4 = -9.5.
    assert network(torch.tensor([[2.0, 1.0]])).item() == pytest.approx(-9.5)


def test_a_residual_block_adds_to_its_input():
    torch.manual_seed(0)
    network = ResidualMLP(5, width=4, n_blocks=1)
    x = torch.randn(3, 5)
    block = network.blocks[0]
    stem = network.stem(x)
    normalised = (stem - stem.mean(1, keepdim=True)) / (stem.var(1, keepdim=True, correction=0) + 1e-5).sqrt()
    hidden = (normalised @ block.expand.weight + block.expand.bias).relu()
    torch.testing.assert_close(network(x), stem + hidden @ block.contract.weight + block.contract.bias)


def test_first_weights_are_drawn_as_torch_draws_those_of_a_linear_layer():
    torch.manual_seed(0)
    layer = StackableLinear(100, 400)
    for parameter in layer.parameters():
        assert 0.095 < parameter.abs().max() <= 0.1  # 1 / sqrt(100)
    assert repr(layer) == "StackableLinear(n_in=100, n_out=400)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MLP(0), "n_features and every width must be at least 1, got 0"),
        (lambda: MLP(3, widths=()), r"every width .* got 3 and \(\)"),
        (lambda: MLP(3, widths=(4, 0)), r"every width .* got 3 and \(4, 0\)"),
        (lambda: ResidualMLP(0), "got 0, 128 and 2"),
        (lambda: ResidualMLP(3, width=0), "got 3, 0 and 2"),
        (lambda: ResidualMLP(3, n_blocks=0), "got 3, 128 and 0"),
    ],
)
def test_bad_sizes_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
