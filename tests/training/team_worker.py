"""What each process of `test_team` runs: train every case and write down what came out.

python -m tests.training.team_worker OUT
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

from gditd import GDITDClassifier
from gditd.nn import MLP, GaussianDescriptor, GDITDLoss, ResidualMLP
from gditd.training import Cohort, DescentSettings, Member, alone, leads
from gditd.training.team import place
from tests.raw_tables import mixed_table


def rows():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [60, 90, 151])
    x = rng.normal(size=(len(y), 6)) + 3 * rng.normal(size=(3, 6))[y]
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


class MeanLoss(nn.Module):
    """A loss that is no sum over rows, for a head of one's own."""

    def forward(self, output, y, *, rows=None, present=None):
        distance = output.distance.gather(-1, y.unsqueeze(-1)).squeeze(-1)
        return distance.logsumexp(-1)


def cohort(backbone, loss, seeds=(1, 2), **settings):
    x, y = rows()
    members = [Member(np.arange(seed % 2, len(x)), seed) for seed in seeds]
    trained = Cohort.fit(
        x,
        y,
        members,
        backbone=backbone,
        head=lambda dim: GaussianDescriptor(3, dim),
        loss=loss,
        n_classes=3,
        settings=DescentSettings(**{"max_epochs": 6, "batch_size": 33, "rare_per_batch": 4} | settings),
    )
    zeta = trained.apply(x, lambda _, description: description.zeta.mean(0))
    return {"losses": [r.training_loss for r in trained.history], "zeta": zeta.tolist()}


def classifier():
    table, labels = mixed_table((70, 80, 110))
    model = GDITDClassifier(preset="fast", random_state=0, max_epochs=15, batch_size=25).fit(table, labels)
    if leads():
        model.save(f"{sys.argv[1]}.{place()}.gditd")
    verdicts = model.verdict(table)
    return {
        "losses": [r.training_loss for r in model.model_.cohort.history],
        "verdicts": verdicts["verdict"].tolist(),
        "p_values": verdicts["p_value"].tolist(),
    }


def different_seeds():
    try:
        cohort(MLP, GDITDLoss(), seeds=(1, 2 + place()))
    except ValueError as error:
        return {"error": str(error)}
    return {}


def each_alone():
    with alone():
        return cohort(MLP, GDITDLoss(), seeds=(1, 2 + place()))


CASES = {
    "closed form": lambda: cohort(MLP, GDITDLoss(beta="effective")),
    "autograd": lambda: cohort(ResidualMLP, MeanLoss(), block_descent=False),
    "stopping": lambda: cohort(MLP, GDITDLoss(), validation_fraction=0.2, patience=2, max_epochs=12),
    "tiny batches": lambda: cohort(MLP, GDITDLoss(), batch_size=3, max_epochs=2),
    "batch norm": lambda: cohort(
        lambda n: nn.Sequential(nn.Linear(n, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4)), GDITDLoss()
    ),
    "classifier": classifier,
    "different seeds": different_seeds,
    "alone": each_alone,
}

if __name__ == "__main__":
    found = {name: case() for name, case in CASES.items()}
    Path(f"{sys.argv[1]}.{place()}.json").write_text(json.dumps(found))
