from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from gditd.detectors.softmax_network import cross_entropy
from gditd.nn import MLP, GaussianDescriptor, GDITDLoss, ResidualMLP, StackableLinear
from gditd.training import Cohort, DescentSettings, Member
from gditd.training.programs import SingleProgram, StackedProgram, VmapProgram

N_CLASSES = 3
N_FEATURES = 6
N_ROWS = 90

Backbone = Callable[[int], nn.Module]


@pytest.fixture
def double_precision() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def table(n_rows: int = N_ROWS) -> tuple[Tensor, Tensor]:
    """Three overlapping classes, interleaved."""
    random = np.random.default_rng(0)
    y = np.arange(n_rows) % N_CLASSES
    x = random.normal(size=(N_CLASSES, N_FEATURES))[y] + random.normal(size=(n_rows, N_FEATURES))
    return torch.tensor(x, dtype=torch.get_default_dtype()), torch.tensor(y)


def small_mlp(n_features: int) -> nn.Module:
    return MLP(n_features, widths=(8, 5))


def small_residual(n_features: int) -> nn.Module:
    return ResidualMLP(n_features, width=8, n_blocks=1)


def sequential(n_features: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n_features, 8), nn.ReLU(), nn.Linear(8, 5))


def batch_norm(n_features: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n_features, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 5))


def one_by_one_sequential(n_features: int) -> nn.Module:
    return NotMappable(sequential(n_features))


class NotMappable(nn.Module):
    """A network whose forward pass decides by the values it sees, without changing what it computes."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.network(x)
        return out if out.abs().sum() >= 0 else -out


GDITD_HEAD: dict[str, Any] = {"head": lambda dim: GaussianDescriptor(N_CLASSES, dim), "loss": GDITDLoss()}
SOFTMAX_HEAD: dict[str, Any] = {"head": lambda dim: StackableLinear(dim, N_CLASSES), "loss": cross_entropy}
HEADS = pytest.mark.parametrize("head", [GDITD_HEAD, SOFTMAX_HEAD], ids=["gditd", "softmax"])


def fit(
    members: list[Member],
    *,
    backbone: Backbone = small_mlp,
    head: dict[str, Any] = GDITD_HEAD,
    rows: tuple[Tensor, Tensor] | None = None,
    **settings: Any,
) -> Cohort:
    x, y = rows or table()
    chosen = DescentSettings(**({"max_epochs": 4, "batch_size": 16, "learning_rate": 1e-2} | settings))
    return Cohort.fit(x, y, members, backbone=backbone, n_classes=N_CLASSES, settings=chosen, **head)


def everyone(*seeds: int) -> list[Member]:
    return [Member(np.arange(N_ROWS), seed) for seed in seeds]


def unequal_members() -> list[Member]:
    """Other seeds, other columns, other numbers of rows; the third never sees class 1, the last only class 2."""
    labels = np.arange(N_ROWS) % N_CLASSES
    return [
        Member(np.arange(N_ROWS), 1, np.array([0, 1, 2, 3])),
        Member(np.arange(10, 47), 2, np.array([5, 3, 1, 0])),
        Member(np.flatnonzero(labels != 1), 3, np.array([2, 3, 4, 5])),
        Member(np.flatnonzero(labels == 2)[:7], 4, np.array([0, 2, 4, 5])),
    ]


def member_tensors(cohort: Cohort, number: int) -> dict[str, Tensor]:
    parts = {"network": cohort.network, "head": cohort.head}
    return {f"{part}.{name}": value[number] for part, own in parts.items() for name, value in own.items()}


def embeddings(cohort: Cohort, x: Tensor) -> Tensor:
    """(n, members, d)."""
    return cohort.apply(x, lambda embedding, _: embedding.transpose(0, 1))


def epochs_trained(cohort: Cohort, number: int) -> int:
    return max(record.epoch for record in cohort.history if record.member == number)


def assert_same_member(cohort: Cohort, number: int, alone: Cohort, *, tolerance: float) -> None:
    expected = member_tensors(alone, 0)
    for name, value in member_tensors(cohort, number).items():
        torch.testing.assert_close(value, expected[name], rtol=tolerance, atol=tolerance, msg=name)
    x, _ = table()
    together, apart = embeddings(cohort, x)[:, number], embeddings(alone, x)[:, 0]
    torch.testing.assert_close(together, apart, rtol=tolerance, atol=tolerance)


class TestAMemberIsTheSameAloneAndInACohort:
    @pytest.mark.usefixtures("double_precision")
    @pytest.mark.parametrize("validation_fraction", [0.0, 0.2])
    @pytest.mark.parametrize("backbone", [small_mlp, small_residual, sequential, batch_norm])
    @HEADS
    def test_in_double_precision(self, backbone: Backbone, head: dict[str, Any], validation_fraction: float) -> None:
        members = unequal_members()
        settings = {"backbone": backbone, "head": head, "max_epochs": 12, "patience": 1, "learning_rate": 0.05}
        settings["validation_fraction"] = validation_fraction
        together = fit(members, **settings)
        for number, member in enumerate(members):
            alone = fit([member], **settings)
            assert epochs_trained(together, number) == epochs_trained(alone, 0)
            assert_same_member(together, number, alone, tolerance=1e-8)
        if validation_fraction:
            assert len({epochs_trained(together, number) for number in range(len(members))}) > 1

    @pytest.mark.parametrize("backbone", [small_mlp, small_residual])
    @HEADS
    def test_in_single_precision(self, backbone: Backbone, head: dict[str, Any]) -> None:
        members = unequal_members()
        together = fit(members, backbone=backbone, head=head)
        for number, member in enumerate(members):
            assert_same_member(together, number, fit([member], backbone=backbone, head=head), tolerance=2e-3)

    def test_dropout_of_networks_trained_one_by_one(self) -> None:
        def backbone(n_features: int) -> nn.Module:
            return NotMappable(nn.Sequential(nn.Linear(n_features, 8), nn.Dropout(0.5), nn.Linear(8, 5)))

        together = fit(everyone(1, 2), backbone=backbone)
        assert_same_member(together, 1, fit(everyone(2), backbone=backbone), tolerance=0)


class TestSeeds:
    @pytest.mark.parametrize("backbone", [small_mlp, small_residual, sequential, batch_norm])
    def test_the_same_seeds_give_the_same_bits(self, backbone: Backbone) -> None:
        first, second = (fit(unequal_members(), backbone=backbone, validation_fraction=0.2) for _ in range(2))
        for number in range(first.n_members):
            for name, value in member_tensors(first, number).items():
                assert torch.equal(value, member_tensors(second, number)[name]), name

    def test_another_seed_gives_other_bits(self) -> None:
        cohort = fit(everyone(1, 2))
        for name, value in member_tensors(cohort, 0).items():
            assert not torch.equal(value, member_tensors(cohort, 1)[name]), name

    @pytest.mark.parametrize("backbone", [small_mlp, sequential, batch_norm])
    def test_fit_and_restore_leave_the_global_random_state_alone(self, backbone: Backbone) -> None:
        torch.manual_seed(123)
        torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
        cohort = fit(everyone(1, 2), backbone=backbone)
        restored(cohort, backbone=backbone)
        assert torch.equal(torch.get_rng_state(), torch_state)
        assert (np.random.get_state()[1] == numpy_state).all()  # noqa: NPY002


class TestUserModules:
    def test_a_plain_module_is_vectorised_and_equals_training_one_by_one(self) -> None:
        vectorised = fit(everyone(1, 2), backbone=sequential)
        assert isinstance(vectorised.architecture.program, VmapProgram)
        one_by_one = fit(everyone(1, 2), backbone=one_by_one_sequential)
        assert isinstance(one_by_one.architecture.program, SingleProgram)
        for name, value in vectorised.network.items():
            torch.testing.assert_close(value, one_by_one.network[f"network.{name}"], rtol=1e-3, atol=1e-4)

    def test_a_plain_module_equals_a_plain_torch_loop(self) -> None:
        """One full batch per epoch, so the order of the rows does not matter."""
        x, y = table()
        cohort = fit(everyone(7), backbone=sequential, head=SOFTMAX_HEAD, batch_size=N_ROWS, block_descent=False)
        torch.manual_seed(7)
        network = sequential(N_FEATURES)
        head = StackableLinear(5, N_CLASSES)
        optimiser = torch.optim.Adam([*network.parameters(), *head.parameters()], lr=1e-2)
        for _ in range(4):
            optimiser.zero_grad()
            nn.functional.cross_entropy(head(network(x)), y).backward()
            optimiser.step()
        for name, value in network.named_parameters():
            torch.testing.assert_close(cohort.network[name][0], value.detach(), rtol=1e-3, atol=1e-4)

    @pytest.mark.parametrize("backbone", [batch_norm, one_by_one_sequential])
    def test_modules_that_cannot_be_vectorised_learn_one_by_one(
        self, backbone: Backbone, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.WARNING, logger="gditd"):
            cohort = fit(everyone(1, 2), backbone=backbone, head=SOFTMAX_HEAD, max_epochs=30)
        assert [record.name for record in caplog.records] == ["gditd"]
        x, y = table()
        logits = cohort.apply(x, lambda _, output: output.mean(0))
        assert (logits.argmax(1) == y).float().mean() > 0.8
        assert {record.member for record in cohort.history} == {0, 1}

    def test_batch_normalisation_sees_no_padding(self) -> None:
        """22 rows in batches of 16: if the six of the second batch were padded, its statistics would differ."""
        x, _ = table()
        rows = np.arange(22)

        def normalise_only(n_features: int) -> nn.Module:
            return nn.BatchNorm1d(n_features, affine=False, momentum=None)

        members = [Member(rows, 5), Member(np.arange(N_ROWS), 6)]
        cohort = fit(members, backbone=normalise_only, max_epochs=1)
        order = first_order(22, seed=5)
        halves = [x[order[:16]], x[order[16:]]]
        expected = torch.stack([half.mean(0) for half in halves]).mean(0)
        torch.testing.assert_close(cohort.network["running_mean"][0], expected)

    def test_batch_normalisation_survives_a_row_left_over(self) -> None:
        cohort = fit([Member(np.arange(33), 0)], backbone=batch_norm)
        assert embeddings(cohort, table()[0]).isfinite().all()

    @pytest.mark.parametrize("backbone", [lambda _: nn.Identity(), lambda n: sequential(n).requires_grad_(False)])
    def test_a_frozen_network_stays_as_it_is_and_its_head_learns(self, backbone: Backbone) -> None:
        cohort = fit(everyone(3), backbone=backbone, max_epochs=8)
        torch.manual_seed(3)
        for name, value in backbone(N_FEATURES).named_parameters():
            assert torch.equal(cohort.network[name][0], value)
        assert cohort.history[-1].training_loss < cohort.history[0].training_loss

    @pytest.mark.parametrize(
        ("backbone", "found"),
        [
            (lambda _: nn.Unflatten(1, (2, 3)), r"\(2, 2, 3\)"),
            (lambda _: nn.Flatten(0), r"\(12,\)"),
            (lambda n: nn.LSTM(n, 4), "tuple"),
        ],
    )
    def test_a_wrong_output_is_refused_with_what_is_expected(self, backbone: Backbone, found: str) -> None:
        with pytest.raises(ValueError, match=rf"must map \(batch, 6\) to \(batch, width\).*{found}"):
            fit(everyone(0), backbone=backbone)


def first_order(n_rows: int, *, seed: int) -> Tensor:
    """Return the order in which a member sees its rows first: shuffled for the stopping split, then for the epoch."""
    generator = torch.Generator().manual_seed(seed)
    shuffled = torch.randperm(n_rows, generator=generator)
    return shuffled[torch.randperm(n_rows, generator=generator)]


class TestMembers:
    def test_unequal_numbers_of_columns_are_refused(self) -> None:
        members = [Member(np.arange(9), 0, np.arange(3)), Member(np.arange(9), 1, np.arange(4))]
        with pytest.raises(ValueError, match="same number of columns"):
            fit(members)

    @pytest.mark.parametrize("members", [[], [Member(np.arange(9), 0), Member(np.arange(0), 1)]])
    def test_no_member_and_a_member_without_rows_are_refused(self, members: list[Member]) -> None:
        with pytest.raises(ValueError, match="at least one member, and every member at least one row"):
            fit(members)

    def test_a_member_sees_its_own_columns_only(self) -> None:
        x, _ = table()
        cohort = fit(unequal_members())
        changed = x.clone()
        changed[:, 4:] += 1
        difference = (embeddings(cohort, x) - embeddings(cohort, changed)).abs().amax((0, 2))
        assert difference[0] == 0  # columns 0 to 3
        assert (difference[1:] > 0).all()

    def test_rows_of_others_do_not_matter(self) -> None:
        x, y = table()
        poisoned = x.clone()
        poisoned[40:] = torch.nan
        members = [Member(np.arange(40), 1), Member(np.arange(5, 30), 2)]
        clean, beside_poison = (
            fit(members, rows=(rows, y), validation_fraction=0.2, patience=2) for rows in (x, poisoned)
        )
        for number in range(2):
            for name, value in member_tensors(clean, number).items():
                assert torch.equal(value, member_tensors(beside_poison, number)[name]), name

    @pytest.mark.parametrize(
        ("head", "name", "class_dimension"), [(GDITD_HEAD, "centers", 0), (SOFTMAX_HEAD, "weight", 1)]
    )
    def test_a_class_without_rows_is_no_part_of_the_training(
        self, head: dict[str, Any], name: str, class_dimension: int
    ) -> None:
        labels = np.arange(N_ROWS) % N_CLASSES
        members = [Member(np.flatnonzero(labels != 1), 1), Member(np.arange(N_ROWS), 2)]
        trained = fit(members, head=head).head[name][0]
        torch.manual_seed(1)
        small_mlp(N_FEATURES)  # a member draws its network first, then its head
        at_start = head["head"](5).get_parameter(name).detach()
        unchanged = [
            torch.equal(now, before)
            for now, before in zip(trained.unbind(class_dimension), at_start.unbind(class_dimension), strict=True)
        ]
        assert unchanged == [False, True, False]

    @HEADS
    def test_scores_do_not_depend_on_how_rows_are_grouped(self, head: dict[str, Any]) -> None:
        x, _ = table()
        cohort = fit(everyone(1, 2), head=head)
        assert isinstance(cohort.architecture.program, StackedProgram)
        whole = embeddings(cohort, x.repeat(30, 1))
        torch.testing.assert_close(whole[:N_ROWS], embeddings(cohort, x), rtol=1e-5, atol=1e-5)
        assert whole.shape == (30 * N_ROWS, 2, 5)


def restored(cohort: Cohort, *, backbone: Backbone = small_mlp, **changed: Tensor) -> Cohort:
    return Cohort.restore(
        cohort.network,
        cohort.head | changed,
        n_features=N_FEATURES,
        backbone=backbone,
        head_factory=GDITD_HEAD["head"],
        loss=GDITD_HEAD["loss"],
    )


class TestRestore:
    @pytest.mark.parametrize("backbone", [small_mlp, sequential, batch_norm])
    def test_a_restored_cohort_gives_the_same_bits(self, backbone: Backbone) -> None:
        x, _ = table()
        cohort = fit(everyone(1, 2), backbone=backbone)
        assert torch.equal(embeddings(restored(cohort, backbone=backbone), x), embeddings(cohort, x))

    @pytest.mark.parametrize(
        "misfit",
        [
            lambda centers: centers[:, :2],
            lambda centers: centers[:0],
            lambda centers: centers[:1],
            lambda centers: centers.double(),
            lambda centers: centers[0],
            lambda centers: centers.sum(),
        ],
        ids=["one class less", "no member", "one member less", "other type", "no member dimension", "a number"],
    )
    def test_tensors_that_do_not_fit_are_refused(self, misfit: Callable[[Tensor], Tensor]) -> None:
        cohort = fit(everyone(1, 2), max_epochs=1)
        with pytest.raises(ValueError, match=r"does not fit the network|same number of members"):
            restored(cohort, centers=misfit(cohort.head["centers"]))

    def test_missing_and_unknown_tensors_are_refused(self) -> None:
        cohort = fit(everyone(1), max_epochs=1)
        with pytest.raises(ValueError, match="'bias' is missing or unknown"):
            restored(cohort, bias=torch.zeros(1, N_CLASSES))
        with pytest.raises(ValueError, match="missing or unknown"):
            restored(cohort, backbone=small_residual)
