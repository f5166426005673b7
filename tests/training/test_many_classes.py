"""With many classes, nothing of the size rows x classes x width of the embedding is ever made."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from gditd import GDITDClassifier
from gditd.nn import MLP, GaussianDescriptor, GDITDLoss
from gditd.training import Cohort, DescentSettings, Member, stack
from gditd.training.objectives import AutogradObjective

CLASSES, WIDTH, BATCH = 300, 128, 200


class Largest(TorchDispatchMode):
    """Notes the number of elements of the largest tensor that any operation made."""

    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for one in tree_leaves(made):
            if isinstance(one, torch.Tensor):
                self.elements = max(self.elements, one.untyped_storage().nbytes() // one.element_size())
        return made


@contextmanager
def watched() -> Iterator[dict[str, float]]:
    """The elements of torch's largest tensor, and the bytes of all that numpy held at most."""
    found: dict[str, float] = {}
    tracemalloc.start()
    with Largest() as largest:
        yield found
    found |= {"elements": largest.elements, "bytes": tracemalloc.get_traced_memory()[1]}
    tracemalloc.stop()


def rows(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % CLASSES
    return rng.normal(size=(n_rows, 6)).astype(np.float32) + 4 * rng.normal(size=(CLASSES, 6))[y], y


@pytest.mark.parametrize("by_autograd", [False, True])
def test_training(by_autograd, monkeypatch):
    if by_autograd:  # as on a GPU
        monkeypatch.setattr(stack, "choose_objective", lambda head, loss, device: AutogradObjective(head, loss))
    x, y = rows(600)

    def fit():
        Cohort.fit(
            torch.tensor(x, dtype=torch.float32),
            torch.tensor(y),
            [Member(np.arange(len(x)), 0)],
            backbone=MLP,
            head=lambda dim: GaussianDescriptor(CLASSES, dim),
            loss=GDITDLoss(),
            n_classes=CLASSES,
            settings=DescentSettings(max_epochs=1, batch_size=BATCH),
        )

    with watched():
        fit()  # what is imported on first use would count
    with watched() as found:
        fit()
    too_much = BATCH * CLASSES * WIDTH
    assert found["elements"] < too_much / 20
    assert found["bytes"] < 4 * too_much / 2


def test_scoring():
    x, y = rows(1_500)
    model = GDITDClassifier(preset="fast", max_epochs=1, random_state=0).fit(x, y)
    new, _ = rows(1_024)
    with watched() as found:
        verdicts = model.verdict(new)
    assert len(verdicts) == 1_024
    too_much = 1_024 * CLASSES * WIDTH
    assert found["elements"] < too_much / 20
    assert found["bytes"] < 4 * too_much / 2
