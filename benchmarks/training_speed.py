"""How fast members train, in member-steps per second, on one thread and in one run.

A step is one batch of 200 rows of 128 columns through three layers of 128, five classes, forward, backward and
update. Measured are
- research_loop: one network in a loop as research code writes it: a DataLoader with one worker, distances through
  repeat(), one Adam, .item() after every step;
- cohort_5 and cohort_10: cohorts of 5 and 10 members under the same loss, by block coordinate descent;
- gemm_bound: the matrix products of that step alone, by torch.mm into ready buffers. Nothing can be faster.

The rounds of all four alternate and the best round of each counts, for the machine may be busy.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from gditd.nn import MLP, GaussianDescriptor, GDITDLoss
from gditd.training import Cohort, DescentSettings, Member

BATCH, FEATURES, WIDTH, CLASSES = 200, 128, 128, 5
ROWS = BATCH * 60


def table() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(0, CLASSES, (ROWS,), generator=generator)
    centers = torch.randn(CLASSES, FEATURES, generator=generator)
    return centers[y] + torch.randn(ROWS, FEATURES, generator=generator), y


class ResearchNetwork(nn.Module):
    """Network, centres and radii in one module, distances through repeat()."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(FEATURES, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)
        )
        self.centers = nn.Parameter(torch.randn(CLASSES, WIDTH))
        self.log_sigmas = nn.Parameter(torch.zeros(CLASSES))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        out = self.layers(x)
        out = out.unsqueeze(1).repeat(1, CLASSES, 1)
        centers = self.centers.unsqueeze(0).repeat(len(x), 1, 1)
        log_sigmas = torch.relu(self.log_sigmas)
        distances = ((out - centers) ** 2).sum(2) / 2 / torch.exp(2 * log_sigmas) + WIDTH * log_sigmas
        return distances, torch.exp(log_sigmas) - distances


def research_loss(distances: Tensor, zeta: Tensor, labels: Tensor) -> Tensor:
    own = torch.zeros(len(labels), CLASSES).scatter_(1, labels.unsqueeze(1), 1)
    pull = (own * distances).sum()
    zeta_own = (own * zeta).sum(1)
    score = ((1 - own) * torch.exp(zeta) / len(labels)).sum()
    score = score + (torch.relu(-zeta_own) + torch.log(1 + zeta_own**2)).sum()
    counts = own.sum(0)
    beta = 1 / len(labels)
    weights = ((1 - beta) / (1 - beta**counts))[labels]
    focal = torch.zeros(())
    for logits in (1 / distances.clamp_min(1e-4), zeta):
        log_p = (own * torch.log_softmax(logits, 1)).sum(1)
        focal = focal - (weights * (1 - log_p.exp()) * log_p).sum()
    return pull + score + focal


def research_loop(steps: int) -> float:
    x, y = table()
    loader = DataLoader(TensorDataset(x[: steps * BATCH], y[: steps * BATCH]), BATCH, shuffle=True, num_workers=1)
    network = ResearchNetwork()
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    batches = iter(loader)
    next(batches)  # the worker has started
    start = time.perf_counter()
    total_loss = 0.0
    for data, labels in batches:
        distances, zeta = network(data)
        loss = research_loss(distances, zeta, labels)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        total_loss += loss.item()
    return (steps - 1) / (time.perf_counter() - start)


def cohort(members: int, epochs: int) -> float:
    x, y = table()
    start = time.perf_counter()
    Cohort.fit(
        x,
        y,
        [Member(np.arange(ROWS), seed) for seed in range(members)],
        backbone=MLP,
        head=lambda dim: GaussianDescriptor(CLASSES, dim),
        loss=GDITDLoss(),
        n_classes=CLASSES,
        settings=DescentSettings(max_epochs=epochs, batch_size=BATCH),
    )
    return members * epochs * (ROWS // BATCH) / (time.perf_counter() - start)


def gemm_bound(steps: int) -> float:
    x, weight, slope = torch.randn(BATCH, WIDTH), torch.randn(WIDTH, WIDTH), torch.randn(BATCH, WIDTH)
    centers, head_slope = torch.randn(CLASSES, WIDTH), torch.randn(BATCH, CLASSES)
    out, by_weight = torch.empty(BATCH, WIDTH), torch.empty(WIDTH, WIDTH)
    logits, by_centers = torch.empty(BATCH, CLASSES), torch.empty(CLASSES, WIDTH)
    start = time.perf_counter()
    for _ in range(steps):
        for layer in range(3):
            torch.mm(x, weight, out=out)
            torch.mm(x.T, slope, out=by_weight)
            if layer:  # nobody needs the gradient of the inputs
                torch.mm(slope, weight.T, out=out)
        torch.mm(x, centers.T, out=logits)
        torch.mm(head_slope.T, x, out=by_centers)
        torch.mm(head_slope, centers, out=out)
    return steps / (time.perf_counter() - start)


def measure(rounds: int) -> dict[str, float]:
    kinds: dict[str, Callable[[], float]] = {
        "research_loop": lambda: research_loop(60),
        "cohort_5": lambda: cohort(5, 6),
        "cohort_10": lambda: cohort(10, 6),
        "gemm_bound": lambda: gemm_bound(600),
    }
    best = dict.fromkeys(kinds, 0.0)
    for number in range(rounds + 1):
        print(f"round {number} of {rounds}", file=sys.stderr)
        for name, run in kinds.items():
            speed = run()
            if number:  # the first round only warms up
                best[name] = max(best[name], speed)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--rounds", type=int, default=8)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    speeds = measure(arguments.rounds)
    if arguments.json:
        print(json.dumps({name: round(speed, 1) for name, speed in speeds.items()}))
        return
    for name, speed in speeds.items():
        print(
            f"{name:14} {speed:7.0f} member-steps/s   {speed / speeds['research_loop']:5.1f} x research loop   "
            f"{speed / speeds['gemm_bound']:.2f} x GEMM bound"
        )


if __name__ == "__main__":
    main()
