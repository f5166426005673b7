from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from gditd.nn import MLP, ResidualMLP
from gditd.training.programs import (
    SingleProgram,
    StackedProgram,
    VmapProgram,
    choose_program,
    named_tensors,
    stack_tensors,
)

N_FEATURES = 4


class Branching(nn.Module):
    """Its forward pass decides by the values it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(N_FEATURES, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x)
        return out if out.sum() > 0 else 2 * out


def convolution() -> nn.Module:
    return nn.Sequential(nn.Unflatten(1, (1, N_FEATURES)), nn.Conv1d(1, 3, 2), nn.ReLU(), nn.Flatten())


def attention_over_columns() -> nn.Module:
    layer = nn.TransformerEncoderLayer(2, 1, 4, dropout=0.0, batch_first=True)
    return nn.Sequential(nn.Linear(N_FEATURES, 6), nn.Unflatten(1, (3, 2)), layer, nn.Flatten())


def batch_norm() -> nn.Module:
    return nn.Sequential(nn.Linear(N_FEATURES, 3), nn.BatchNorm1d(3))


@pytest.mark.parametrize("network", [MLP(N_FEATURES, widths=(5, 3)), ResidualMLP(N_FEATURES, width=5)])
def test_own_backbones_run_stacked(network: nn.Module) -> None:
    assert isinstance(choose_program(network, N_FEATURES), StackedProgram)


@pytest.mark.parametrize(
    "network",
    [
        nn.Sequential(nn.Linear(N_FEATURES, 5), nn.ReLU(), nn.Linear(5, 3)),
        nn.Sequential(nn.Linear(N_FEATURES, 5), nn.Dropout(0.5), nn.LayerNorm(5)),
        nn.Sequential(MLP(N_FEATURES, widths=(5,)), nn.Tanh()),
        nn.Identity(),
        convolution(),
        attention_over_columns(),
    ],
    ids=["linear", "dropout", "nested", "identity", "convolution", "attention"],
)
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_plain_modules_are_vectorised_silently(network: nn.Module, caplog: pytest.LogCaptureFixture) -> None:
    assert isinstance(choose_program(network, N_FEATURES), VmapProgram)
    assert not caplog.records


@pytest.mark.parametrize(
    ("network", "reason"),
    [
        (Branching(), "data-dependent control flow"),
        (batch_norm(), "mixes the rows of a batch"),
        (nn.BatchNorm1d(N_FEATURES, track_running_stats=False), "mixes the rows of a batch"),
    ],
    ids=["branching", "batch norm", "batch norm without running statistics"],
)
@pytest.mark.parametrize("training", [True, False])
def test_other_modules_run_one_by_one_and_the_log_says_why(
    network: nn.Module, reason: str, training: bool, caplog: pytest.LogCaptureFixture
) -> None:
    network.train(training)
    with caplog.at_level(logging.WARNING, logger="gditd"):
        assert isinstance(choose_program(network, N_FEATURES), SingleProgram)
    (record,) = caplog.records
    assert record.name == "gditd"
    assert type(network).__name__ in record.getMessage()
    assert reason in record.getMessage()
    assert "one after another" in record.getMessage()


def test_choosing_leaves_parameters_and_buffers_alone() -> None:
    network = batch_norm()
    before = {name: value.clone() for name, value in named_tensors(network).items()}
    choose_program(network, N_FEATURES)
    for name, value in named_tensors(network).items():
        assert torch.equal(value, before[name])


@pytest.mark.parametrize("make", [lambda: MLP(N_FEATURES, widths=(5, 3)), lambda: ResidualMLP(N_FEATURES, width=5)])
def test_all_programs_agree_with_the_plain_network(make: Callable[[], nn.Module]) -> None:
    torch.manual_seed(0)
    networks = [make() for _ in range(3)]
    x = torch.randn(3, 7, N_FEATURES)
    tensors = stack_tensors([named_tensors(network) for network in networks])
    expected = torch.stack([network(own) for network, own in zip(networks, x, strict=True)])
    torch.testing.assert_close(StackedProgram(networks[0])(tensors, x), expected)
    torch.testing.assert_close(VmapProgram(networks[0])(tensors, x), expected)
    single = SingleProgram(networks[0])
    for m in range(3):
        own = {name: value[m : m + 1] for name, value in tensors.items()}
        torch.testing.assert_close(single(own, x[m : m + 1]), expected[m : m + 1])


class Squared(MLP):
    """Runs otherwise than what it inherits from."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x**2)


class Smooth(MLP):
    """Has other layers than what it inherits from."""

    def layer_outputs(self, x: Tensor) -> list[Tensor]:
        return [torch.tanh(layer(x)) for layer in self.layers[:1]]


@pytest.mark.parametrize("kind", [Squared, Smooth])
def test_a_network_that_inherits_from_an_own_one_trains_and_scores_as_it_says(kind: type[MLP]) -> None:
    network = kind(N_FEATURES, widths=(5, 3))
    program = choose_program(network, N_FEATURES)
    x = torch.randn(2, 7, N_FEATURES)
    tensors = {name: value.requires_grad_() for name, value in stack_tensors([named_tensors(network)] * 2).items()}
    expected = torch.stack([network(own) for own in x])
    torch.testing.assert_close(program.with_pullback(tensors, x)[0], expected.detach())
    torch.testing.assert_close(program.layers(tensors, x)[-1], expected)


def test_one_by_one_updates_running_statistics_in_place() -> None:
    network = batch_norm()
    tensors = stack_tensors([named_tensors(network)])
    torch.manual_seed(0)
    x = torch.randn(1, 8, N_FEATURES)
    SingleProgram(network)(tensors, x)
    torch.testing.assert_close(tensors["1.running_mean"][0], 0.1 * network[0](x[0]).mean(0).detach())
    assert tensors["1.num_batches_tracked"].tolist() == [1]
