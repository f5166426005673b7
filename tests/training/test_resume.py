"""A training that was stopped goes on to the same bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from gditd.checkpoint import CheckpointFile
from gditd.model_file import ModelFileError
from gditd.nn import GDITDLoss
from gditd.training import Cohort, DescentSettings, Member
from gditd.training.state import State
from tests.training.test_cohort import (
    GDITD_HEAD,
    HEADS,
    N_CLASSES,
    Backbone,
    batch_norm,
    one_by_one_sequential,
    sequential,
    small_mlp,
    table,
    unequal_members,
)


def dropout(n_features: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n_features, 8), nn.Dropout(0.3), nn.Linear(8, 5))


class Stopped(Exception):
    """Somebody stopped the training."""


@dataclass
class StopsAfter:
    """A checkpoint that keeps a number of states in a file, and then stops the training."""

    path: Path
    states: int
    kept: int = field(default=0)

    def read(self, identity: str) -> State | None:
        return CheckpointFile(self.path).read(identity)

    def offer(self, identity: str, state: Callable[[], State]) -> None:
        if self.kept == self.states:
            raise Stopped
        self.kept += 1
        CheckpointFile(self.path, seconds_between=0).offer(identity, state)


def fit(checkpoint: Any = None, *, backbone: Backbone = small_mlp, seed: int = 0, **changes: Any) -> Cohort:
    x, y = table()
    settings = {"max_epochs": 7, "batch_size": 16, "learning_rate": 1e-2, "validation_fraction": 0.2, "patience": 2}
    members = [Member(member.rows, member.seed + seed, member.columns) for member in unequal_members()]
    head = changes.pop("head", GDITD_HEAD)
    return Cohort.fit(
        changes.pop("x", x),
        y,
        members,
        backbone=backbone,
        n_classes=N_CLASSES,
        settings=DescentSettings(**(settings | changes)),
        checkpoint=checkpoint,
        **head,
    )


def assert_same(found: Cohort, expected: Cohort) -> None:
    for part in ("network", "head"):
        for name, value in getattr(expected, part).items():
            assert torch.equal(getattr(found, part)[name], value), name
    assert found.history == expected.history


@pytest.mark.parametrize("validation_fraction", [0.0, 0.2])
@pytest.mark.parametrize("backbone", [small_mlp, sequential, batch_norm, one_by_one_sequential, dropout])
@HEADS
def test_to_the_same_bits(backbone: Backbone, head: dict[str, Any], validation_fraction: float, tmp_path: Path) -> None:
    settings = {"backbone": backbone, "head": head, "validation_fraction": validation_fraction}
    unbroken = fit(**settings)
    path = tmp_path / "kept"
    stops = 0
    while True:  # stopped again and again, each time a little later
        try:
            resumed = fit(StopsAfter(path, 3), **settings)
            break
        except Stopped:
            stops += 1
    assert stops > 2
    assert_same(resumed, unbroken)


def test_an_earlier_training_that_came_to_its_end_is_not_repeated(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    done = fit(CheckpointFile(path, seconds_between=0))

    def refuse(_: object) -> None:
        raise AssertionError("nothing is left to train")

    x, y = table()
    settings = DescentSettings(max_epochs=7, batch_size=16, learning_rate=1e-2, validation_fraction=0.2, patience=2)
    again = Cohort.fit(
        x,
        y,
        unequal_members(),
        backbone=small_mlp,
        n_classes=N_CLASSES,
        settings=settings,
        callback=refuse,
        checkpoint=CheckpointFile(path),
        **GDITD_HEAD,
    )
    assert_same(again, done)


@pytest.mark.parametrize(
    "other",
    [
        {"learning_rate": 2e-2},
        {"max_epochs": 8},
        {"seed": 1},
        {"backbone": sequential},
        {"x": table()[0] + 1},
        {"head": GDITD_HEAD | {"loss": GDITDLoss(beta="effective")}},
    ],
    ids=lambda other: next(iter(other)),
)
def test_of_another_training_it_is_refused(other: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "kept"
    with pytest.raises(Stopped):
        fit(StopsAfter(path, 2))
    with pytest.raises(ValueError, match=f"cannot go on from {path}: it is of another table, of other settings"):
        fit(CheckpointFile(path), **other)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    with pytest.raises(Stopped):
        fit(StopsAfter(path, 2))
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[-9] ^= 1
    for broken in (content[: len(content) // 2], flipped, b"", b"nonsense" * 9):
        path.write_bytes(broken)
        with pytest.raises(ModelFileError, match=r"cannot go on from .*; remove it"):
            fit(CheckpointFile(path))


def test_a_file_that_cannot_be_written_does_not_end_training(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "kept"
    with pytest.warns(UserWarning, match="training goes on without .*kept, which cannot be written") as warned:
        assert_same(fit(CheckpointFile(path, seconds_between=0)), fit())
    assert len(warned) == 1


def test_it_is_written_no_more_often_than_asked(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    fit(CheckpointFile(path, seconds_between=3600))
    assert not path.exists()
