from dataclasses import dataclass
from itertools import product
from math import log

import pytest
import torch
from torch import Tensor

from gditd.nn import GaussianDescriptor, GDITDLoss
from gditd.training.closed_form import ClosedFormObjective
from gditd.training.objectives import AutogradObjective

NAMES = ("pull", "score", "efl1", "efl2")
WEIGHTS = {name: dict.fromkeys(NAMES, 0.0) | {name: 1.0} for name in NAMES} | {
    "all": dict.fromkeys(NAMES, 1.0),
    "all unequal": {"pull": 0.5, "score": 2.0, "efl1": 3.0, "efl2": 0.25},
}
each_weights = pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())
GAMMAS = (0, 0.5, 1, 2, 3)
BETAS = ("paper", "effective", 0.9, 0)


@dataclass
class Problem:
    """A batch for some members and the heads they start from."""

    head: dict[str, Tensor]
    embedding: Tensor
    y: Tensor
    rows: Tensor | None = None
    present: Tensor | None = None

    @classmethod
    def draw(cls, seed, *, n_classes=4, padding=False, absent=False, spread=0.5, dtype=torch.float64):
        """Draw rows around the centres of their classes; shapes depend on the seed too."""
        generator = torch.Generator().manual_seed(seed)
        members, n_rows, dim = (int(torch.randint(low, 8, (), generator=generator)) for low in (2, 4, 1))

        def normal(*shape):
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        present = torch.ones(members, n_classes, dtype=torch.bool)
        if absent:
            present[0, 0] = False
            present[1, 1:] = False
        y = torch.multinomial(present.double(), n_rows, replacement=True, generator=generator)
        rows = torch.ones(members, n_rows, dtype=torch.float64)
        if padding:
            rows[0, n_rows // 2 :] = 0
            rows[1, 1:] = 0
            y[0, -1] = 0
        centers = normal(members, n_classes, dim)
        own_centers = centers.gather(1, y.unsqueeze(2).expand(-1, -1, dim))
        return cls(
            head={
                "centers": centers.to(dtype),
                # About a third is below 0, which both sides must put back on 0.
                "log_radii": (spread * (normal(members, n_classes) + 0.5)).to(dtype),
            },
            embedding=(own_centers + normal(members, n_rows, dim)).to(dtype),
            y=y,
            rows=rows.to(dtype) if padding else None,
            present=present if absent else None,
        )

    def slopes(self, kind, loss, *, of_head=True, of_embedding=True):
        tensors = {name: value.clone().requires_grad_() for name, value in self.head.items()}
        objective = kind(GaussianDescriptor(*self.head["centers"].shape[1:]), loss)
        at = objective.prepare(self.embedding, self.y, self.rows, self.present)
        return objective.slopes(tensors, at, of_head=of_head, of_embedding=of_embedding), tensors


def assert_same_slopes(problem, loss, *, tolerance=1e-10):
    closed, head_by_closed = problem.slopes(ClosedFormObjective, loss)
    autograd, head_by_autograd = problem.slopes(AutogradObjective, loss)
    pairs = {"loss": (closed.loss, autograd.loss), "embedding": (closed.embedding, autograd.embedding)}
    pairs |= {f"slope of {name}": (closed.head[name], autograd.head[name]) for name in problem.head}
    pairs |= {name: (head_by_closed[name].detach(), head_by_autograd[name].detach()) for name in problem.head}
    for name, (found, expected) in pairs.items():
        scale = expected.abs().max().clamp_min(1)
        torch.testing.assert_close(
            found / scale, expected / scale, rtol=0, atol=tolerance, msg=lambda text, name=name: f"{name}: {text}"
        )


@each_weights
@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_equals_autograd_for_every_setting(weights, gamma, reduction):
    for seed, (beta, padding, absent) in enumerate(product(BETAS, (False, True), (False, True))):
        loss = GDITDLoss(**weights, gamma=gamma, beta=beta, push=0.7, reduction=reduction)
        assert_same_slopes(Problem.draw(seed, padding=padding, absent=absent), loss)


@each_weights
@pytest.mark.parametrize("n_classes", [1, 2, 7])
@pytest.mark.parametrize("padding", [False, True])
def test_equals_autograd_for_few_and_many_classes(weights, n_classes, padding):
    for seed, gamma in enumerate(GAMMAS):
        loss = GDITDLoss(**weights, gamma=gamma, beta="effective")
        assert_same_slopes(Problem.draw(seed, n_classes=n_classes, padding=padding), loss)


@each_weights
def test_equals_autograd_for_wide_radii(weights):
    for seed in range(5):
        assert_same_slopes(Problem.draw(seed, spread=2.0), GDITDLoss(**weights, gamma=2))


@each_weights
@pytest.mark.parametrize("gamma", [0, 1, 2])
def test_equals_autograd_in_float32(weights, gamma):
    for seed, (padding, absent) in enumerate(product((False, True), (False, True))):
        problem = Problem.draw(seed, padding=padding, absent=absent, dtype=torch.float32)
        assert_same_slopes(problem, GDITDLoss(**weights, gamma=gamma, beta="effective"), tolerance=1e-4)


@each_weights
def test_equals_autograd_where_the_score_of_another_class_is_beyond_the_bound_of_exp(weights):
    problem = Problem(
        head={
            "centers": torch.zeros(1, 2, 1, dtype=torch.float64),
            "log_radii": torch.tensor([[0, log(30)]], dtype=torch.float64),
        },
        embedding=torch.ones(1, 3, 1, dtype=torch.float64),
        y=torch.zeros(1, 3, dtype=torch.int64),
    )
    # zeta of class 1 is 30 - 1/1800 - log 30, about 26.6: the line that exp becomes beyond 20.
    assert_same_slopes(problem, GDITDLoss(**weights))


@each_weights
def test_equals_autograd_close_to_a_centre(weights):
    problem = Problem.draw(3)
    own = problem.y.unsqueeze(2).expand(-1, -1, problem.embedding.shape[2])
    problem.head["log_radii"].zero_()
    problem.embedding = problem.head["centers"].gather(1, own) + 1e-3
    assert_same_slopes(problem, GDITDLoss(**weights), tolerance=1e-8)


@pytest.mark.parametrize(
    ("of_head", "of_embedding"), [(True, False), (False, True)], ids=["head alone", "embedding alone"]
)
def test_gives_the_slopes_asked_for_and_no_others(of_head, of_embedding):
    problem, loss = Problem.draw(0), GDITDLoss()
    both, _ = problem.slopes(ClosedFormObjective, loss)
    one, _ = problem.slopes(ClosedFormObjective, loss, of_head=of_head, of_embedding=of_embedding)
    torch.testing.assert_close(one.loss, both.loss)
    assert (one.head is not None) == of_head
    assert (one.embedding is not None) == of_embedding
    torch.testing.assert_close(one.head if of_head else one.embedding, both.head if of_head else both.embedding)


def test_one_batch_serves_two_heads():
    problem, loss = Problem.draw(0, padding=True, absent=True), GDITDLoss(beta="effective")
    objective = ClosedFormObjective(GaussianDescriptor(*problem.head["centers"].shape[1:]), loss)
    at = objective.prepare(problem.embedding, problem.y, problem.rows, problem.present)
    first = objective.slopes(problem.head, at, of_head=True, of_embedding=True)
    moved = {name: value + 0.1 for name, value in problem.head.items()}
    objective.slopes(moved, at, of_head=True, of_embedding=True)
    again = objective.slopes(problem.head, at, of_head=True, of_embedding=True)
    torch.testing.assert_close(again.loss, first.loss, rtol=0, atol=0)
    torch.testing.assert_close(again.embedding, first.embedding, rtol=0, atol=0)


@each_weights
@pytest.mark.parametrize("size", [1e15, 1e20])
@pytest.mark.parametrize("absent", [False, True])
def test_huge_embeddings_give_finite_slopes(weights, size, absent):
    problem = Problem.draw(0, absent=absent, dtype=torch.float32)
    problem.embedding *= size
    slopes, _ = problem.slopes(ClosedFormObjective, GDITDLoss(**weights))
    for tensor in (slopes.loss, slopes.embedding, *slopes.head.values()):
        assert tensor.isfinite().all()


def test_an_absent_class_takes_no_part_however_far_the_known_ones_are():
    problem = Problem.draw(0, absent=True, dtype=torch.float32)
    problem.embedding *= 1e20
    slopes, _ = problem.slopes(ClosedFormObjective, GDITDLoss(**WEIGHTS["efl2"]))
    assert slopes.loss[1] == 0  # member 1 knows a single class, so it cannot be wrong about it
