from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from gditd.detectors import GDITD
from gditd.detectors.softmax_network import cross_entropy
from gditd.nn import MLP, GaussianDescriptor, GDITDLoss, StackableLinear
from gditd.training import Cohort, DescentSettings, Member, Progress, TrainingDiverged

N_FEATURES = 4
WIDTH = 5


def table(n_rows: int = 60, n_classes: int = 3, noise: float = 1.0) -> tuple[Tensor, Tensor]:
    random = np.random.default_rng(0)
    y = np.arange(n_rows) % n_classes
    x = 2 * random.normal(size=(n_classes, N_FEATURES))[y] + noise * random.normal(size=(n_rows, N_FEATURES))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


def network() -> nn.Module:
    return MLP(N_FEATURES, widths=(8, WIDTH))


def fit(
    x: Tensor,
    y: Tensor,
    *,
    members: list[Member] | None = None,
    n_classes: int = 3,
    softmax: bool = False,
    callback: Callable[[Progress], None] | None = None,
    **settings: Any,
) -> Cohort:
    return Cohort.fit(
        x,
        y,
        members or [Member(np.arange(len(x)), 0)],
        backbone=lambda _: network(),
        head=lambda dim: StackableLinear(dim, n_classes) if softmax else GaussianDescriptor(n_classes, dim),
        loss=cross_entropy if softmax else GDITDLoss(),
        n_classes=n_classes,
        settings=DescentSettings(**({"max_epochs": 5, "batch_size": 16} | settings)),
        callback=callback,
    )


class TestSettings:
    @pytest.mark.parametrize("name", ["max_epochs", "batch_size", "patience"])
    @pytest.mark.parametrize("value", [0, -1, 2.5, float("nan"), "3", None])
    def test_counts_are_whole_numbers_above_zero(self, name: str, value: object) -> None:
        with pytest.raises(ValueError, match=rf"^{name} must be a whole number of at least 1, got "):
            DescentSettings(**{name: value})

    @pytest.mark.parametrize("value", [0, -1e-3, float("nan"), float("inf"), "fast", None])
    def test_learning_rate_is_a_finite_number_above_zero(self, value: Any) -> None:
        with pytest.raises(ValueError, match=r"^learning_rate must be a finite number above 0, got "):
            DescentSettings(learning_rate=value)

    @pytest.mark.parametrize("value", [-0.1, 1, 1.5, float("nan"), "half", None])
    def test_validation_fraction_is_a_share(self, value: Any) -> None:
        with pytest.raises(ValueError, match=r"^validation_fraction must be a number in \[0, 1\), got "):
            DescentSettings(validation_fraction=value)

    def test_numbers_of_numpy_are_welcome(self) -> None:
        DescentSettings(max_epochs=np.int64(3), learning_rate=np.float32(0.1), validation_fraction=np.float64(0.5))


class PlainLoop:
    """The same training in plain torch: one member, all rows in one batch, an Adam for each block."""

    def __init__(self, seed: int, learning_rate: float) -> None:
        torch.manual_seed(seed)
        self.network, self.head, self.loss = network(), GaussianDescriptor(3, WIDTH), GDITDLoss()
        self.of_network = torch.optim.Adam(self.network.parameters(), lr=learning_rate)
        self.of_head = torch.optim.Adam(self.head.parameters(), lr=learning_rate)

    def slopes(self, x: Tensor, y: Tensor) -> float:
        self.of_network.zero_grad()
        self.of_head.zero_grad()
        loss = self.loss(self.head(self.network(x)), y)
        loss.backward()
        return loss.item()

    def block_step(self, x: Tensor, y: Tensor) -> float:
        loss = self.slopes(x, y)
        self.of_head.step()
        self.slopes(x, y)
        self.of_network.step()
        return loss

    def joint_step(self, x: Tensor, y: Tensor) -> float:
        loss = self.slopes(x, y)
        self.of_head.step()
        self.of_network.step()
        return loss


class TestDescent:
    @pytest.mark.parametrize("block_descent", [True, False])
    def test_steps_equal_a_plain_torch_loop(self, block_descent: bool) -> None:
        x, y = table(12)
        cohort = fit(x, y, batch_size=12, max_epochs=6, learning_rate=0.05, block_descent=block_descent)
        plain = PlainLoop(seed=0, learning_rate=0.05)
        step = plain.block_step if block_descent else plain.joint_step
        losses = [step(x, y) for _ in range(6)]
        torch.testing.assert_close([record.training_loss for record in cohort.history], losses, rtol=1e-4, atol=0)
        for trained, module in ((cohort.network, plain.network), (cohort.head, plain.head)):
            for name, value in module.named_parameters():
                torch.testing.assert_close(trained[name][0], value.detach(), rtol=1e-3, atol=1e-4, msg=name)

    def test_the_two_ways_of_descending_differ(self) -> None:
        x, y = table(12)
        block, joint = (
            fit(x, y, batch_size=12, max_epochs=2, learning_rate=0.05, block_descent=way) for way in (True, False)
        )
        name = "layers.0.weight"
        assert (block.network[name] - joint.network[name]).abs().max() > 1e-3

    @pytest.mark.parametrize("softmax", [True, False])
    @pytest.mark.parametrize("block_descent", [True, False])
    def test_the_loss_falls(self, block_descent: bool, softmax: bool) -> None:
        x, y = table()
        cohort = fit(x, y, max_epochs=15, learning_rate=1e-2, block_descent=block_descent, softmax=softmax)
        assert cohort.history[-1].training_loss < 0.7 * cohort.history[0].training_loss

    @pytest.mark.parametrize(
        ("n_rows", "n_classes", "batch_size"),
        [(60, 3, 1000), (3, 3, 16), (2, 2, 1), (20, 1, 16), (1, 1, 16)],
        ids=["batch larger than table", "one row per class", "one row per batch", "one class", "one row"],
    )
    @pytest.mark.parametrize("softmax", [True, False])
    def test_unusual_sizes_train(self, n_rows: int, n_classes: int, batch_size: int, softmax: bool) -> None:
        x, y = table(n_rows, n_classes)
        cohort = fit(x, y, n_classes=n_classes, batch_size=batch_size, validation_fraction=0.2, softmax=softmax)
        assert all(value.isfinite().all() for value in [*cohort.network.values(), *cohort.head.values()])
        assert [record.epoch for record in cohort.history] == list(range(1, len(cohort.history) + 1))

    def test_a_batch_larger_than_the_table_is_the_whole_table(self) -> None:
        x, y = table()
        whole, larger = (fit(x, y, batch_size=size) for size in (len(x), 10 * len(x)))
        assert torch.equal(whole.head["centers"], larger.head["centers"])

    @pytest.mark.parametrize(("learning_rate", "softmax"), [(1e6, False), (1e30, False), (1e30, True)])
    def test_divergence_is_told_with_a_cure(self, learning_rate: float, softmax: bool) -> None:
        x, y = table()
        with pytest.raises(TrainingDiverged, match=r"try a smaller learning_rate \(now 1e\+"):
            fit(x, y, learning_rate=learning_rate, max_epochs=100, softmax=softmax)

    def test_an_infinite_value_in_the_table_is_divergence(self) -> None:
        x, y = table()
        x[7, 1] = torch.inf
        with pytest.raises(TrainingDiverged, match=r"member 0 is nan in epoch 1.*extreme values in the table"):
            fit(x, y)


STOPPING: dict[str, Any] = {
    "max_epochs": 60,
    "learning_rate": 0.02,
    "validation_fraction": 0.2,
    "patience": 3,
    "softmax": True,
}


@pytest.fixture(scope="module")
def noise() -> tuple[Tensor, Tensor]:
    """Labels that say nothing about the rows: soon there is nothing to learn but the rows themselves."""
    x, _ = table(100)
    return x, torch.randint(3, (100,), generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def cohort(noise: tuple[Tensor, Tensor]) -> Cohort:
    return fit(*noise, **STOPPING)


class TestEarlyStopping:
    def test_it_stops_when_patience_ends(self, cohort: Cohort) -> None:
        losses = [record.stopping_loss for record in cohort.history]
        best = int(np.argmin(losses))
        assert len(losses) == best + 1 + STOPPING["patience"] < STOPPING["max_epochs"]
        assert cohort.history[-1].training_loss < cohort.history[best].training_loss

    def test_the_best_epoch_comes_back(self, cohort: Cohort, noise: tuple[Tensor, Tensor]) -> None:
        best = int(np.argmin([record.stopping_loss for record in cohort.history])) + 1
        # Without patience running out and with no later epoch, the best epoch is the last of a shorter training.
        shorter = fit(*noise, **(STOPPING | {"max_epochs": best}))
        assert len(shorter.history) == best
        for name, value in shorter.network.items():
            assert torch.equal(value, cohort.network[name]), name

    def test_without_it_every_epoch_is_trained_and_the_last_counts(self, noise: tuple[Tensor, Tensor]) -> None:
        settings = STOPPING | {"validation_fraction": 0.0, "max_epochs": 20}
        cohort = fit(*noise, **settings)
        assert [record.epoch for record in cohort.history] == list(range(1, 21))
        assert all(record.stopping_loss is None for record in cohort.history)
        before_last = fit(*noise, **(settings | {"max_epochs": 19}))
        assert not torch.equal(cohort.head["weight"], before_last.head["weight"])

    def test_classes_too_small_to_set_rows_aside_train_for_all_epochs(self) -> None:
        x, y = table(12)
        cohort = fit(x, y, max_epochs=8, validation_fraction=0.2, patience=1)
        assert len(cohort.history) == 8
        assert all(record.stopping_loss is None for record in cohort.history)


class TestProgress:
    def test_epochs_rise_by_one_up_to_the_last(self) -> None:
        x, y = table()
        reports: list[Progress] = []
        members = [Member(np.arange(60), 0), Member(np.arange(20), 1)]
        cohort = fit(x, y, members=members, callback=reports.append)
        assert [report.epoch for report in reports] == [1, 2, 3, 4, 5]
        assert {report.max_epochs for report in reports} == {5}
        assert reports[-1].members_training == 1  # the small member was done long before
        slow = [record.training_loss for record in cohort.history if record.member == 0]
        assert reports[-1].training_loss == pytest.approx(slow[-1])

    def test_with_early_stopping_they_rise_too(self, noise: tuple[Tensor, Tensor]) -> None:
        members = [Member(np.arange(100), 0), Member(np.arange(30, 90), 1), Member(np.arange(50), 2)]
        reports: list[Progress] = []
        fit(*noise, members=members, callback=reports.append, **STOPPING)
        epochs = [report.epoch for report in reports]
        assert epochs == sorted(set(epochs))
        assert reports[0].members_training == 3


def interrupt(progress: Progress) -> None:
    if progress.epoch == 2:
        raise KeyboardInterrupt


class TestInterruption:
    @pytest.fixture(autouse=True)
    def two_threads(self) -> Iterator[None]:
        before = torch.get_num_threads()
        torch.set_num_threads(2)
        yield
        torch.set_num_threads(before)

    def test_it_leaves_threads_and_random_state_as_they_were(self) -> None:
        x, y = table()
        torch.manual_seed(11)
        state = torch.get_rng_state()
        with pytest.raises(KeyboardInterrupt):
            fit(x, y, callback=interrupt)
        assert torch.get_num_threads() == 2
        assert torch.equal(torch.get_rng_state(), state)

    def test_training_runs_on_one_thread_and_gives_the_others_back(self) -> None:
        x, y = table()
        during: list[int] = []
        fit(x, y, callback=lambda _: during.append(torch.get_num_threads()))
        assert set(during) == {1}
        assert torch.get_num_threads() == 2

    def test_an_estimator_keeps_its_first_fit(self) -> None:
        x, y = (values.numpy() for values in table())
        labels = np.array(["a", "b", "c"])[y]
        detector = GDITD(max_epochs=3, random_state=0, device="cpu").fit(x, labels)
        expected = detector.class_scores(x)
        detector.set_params(progress=interrupt)
        with pytest.raises(KeyboardInterrupt):
            detector.fit(10 - 3 * x, np.array([5, 6, 7])[y])
        assert np.array_equal(detector.class_scores(x), expected)
        assert set(detector.predict(x)) <= {"a", "b", "c"}
