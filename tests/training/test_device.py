"""What a GPU would run, as far as a machine without one can tell."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gditd import GDITDClassifier
from gditd.detectors.network import resolve_device
from gditd.nn import MLP, GaussianDescriptor, GDITDLoss, ResidualMLP
from gditd.training import Cohort, DescentSettings, Member, stack
from gditd.training.objectives import AutogradObjective
from gditd.training.programs import StackedProgram, named_tensors, stack_tensors
from gditd.training.stack import Architecture, Stack, choose_objective
from gditd.training.team import Team, own_device
from tests.raw_tables import mixed_table


def test_auto_takes_a_gpu_where_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("auto") == torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto") == torch.device("cpu")


def test_processes_of_one_machine_take_different_gpus(monkeypatch):
    assert own_device(torch.device("cuda")) == torch.device("cuda"), "one process takes the current one"
    for name, value in {"RANK": "5", "WORLD_SIZE": "8", "MASTER_ADDR": "a", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    assert own_device(torch.device("cuda")) == torch.device("cuda:1")
    assert own_device(torch.device("cuda:3")) == torch.device("cuda:3")
    assert own_device(torch.device("cpu")) == torch.device("cpu")


@pytest.mark.parametrize("backbone", [MLP, ResidualMLP])
@pytest.mark.parametrize("block_descent", [True, False])
def test_a_step_stays_on_its_device(backbone, block_descent, monkeypatch):
    """The meta device computes shapes alone, and refuses to work with tensors of another device."""
    plain = torch.optim.Adam  # there is no fused one for this device
    monkeypatch.setattr(torch.optim, "Adam", lambda groups, lr, fused: plain(groups, lr=lr, foreach=False))
    with torch.device("meta"):
        network, head = backbone(6), GaussianDescriptor(3, 128)
        x, y = torch.empty(2, 10, 6), torch.zeros(2, 10, dtype=torch.int64)
        rows, present = torch.ones(2, 10), torch.ones(2, 3, dtype=torch.bool)
    training = Stack(
        Architecture(StackedProgram(network), network, head, GDITDLoss()),
        *(stack_tensors([named_tensors(module)] * 2) for module in (network, head)),
        learning_rate=1e-3,
        block_descent=block_descent,
    )
    assert isinstance(training.objective, AutogradObjective)
    loss = training.step(x, y, rows, present, Team().divide(10))
    assert (loss.device.type, loss.shape) == ("meta", (2,))


def test_hand_written_gradients_are_for_processors_alone():
    head, loss = GaussianDescriptor(3, 4), GDITDLoss()
    assert isinstance(choose_objective(head, loss, torch.device("cuda")), AutogradObjective)
    assert not isinstance(choose_objective(head, loss, torch.device("cpu")), AutogradObjective)


def use_autograd(monkeypatch):
    monkeypatch.setattr(stack, "choose_objective", lambda head, loss, device: AutogradObjective(head, loss))


def test_what_a_gpu_runs_learns_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    x = torch.tensor(rng.normal(size=(120, 5)) + 3 * rng.normal(size=(3, 5))[y], dtype=torch.float32)

    def losses():
        trained = Cohort.fit(
            x,
            torch.tensor(y),
            [Member(np.arange(120), 0), Member(np.arange(90), 1)],
            backbone=lambda n: MLP(n, widths=(8, 4)),
            head=lambda dim: GaussianDescriptor(3, dim),
            loss=GDITDLoss(),
            n_classes=3,
            settings=DescentSettings(max_epochs=8, batch_size=32),
        )
        return [record.training_loss for record in trained.history]

    by_hand = losses()
    use_autograd(monkeypatch)
    np.testing.assert_allclose(losses(), by_hand, rtol=1e-3)


def test_the_whole_classifier_works_with_it(monkeypatch):
    use_autograd(monkeypatch)
    table, labels = mixed_table((70, 80, 110))
    verdicts = GDITDClassifier(preset="fast", max_epochs=20, random_state=0).fit(table, labels).verdict(table)
    assert (verdicts["known_class"] == labels).mean() > 0.9
