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
from torch import Tensor

from gditd.nn import MLP, GaussianDescriptor, GDITDLoss
from gditd.training import Cohort, DescentSettings, Member
from research_code import BATCH, WIDTH, ResearchNetwork, adam, loader, research_loss, step

FEATURES, CLASSES = 128, 5
ROWS = BATCH * 60


def table() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(0, CLASSES, (ROWS,), generator=generator)
    centers = torch.randn(CLASSES, FEATURES, generator=generator)
    return centers[y] + torch.randn(ROWS, FEATURES, generator=generator), y


def research_loop(steps: int) -> float:
    x, y = table()
    network = ResearchNetwork(FEATURES, CLASSES)
    optimiser = adam(network)
    batches = iter(loader(x[: steps * BATCH], y[: steps * BATCH], shuffle=True))
    next(batches)  # the worker has started
    start = time.perf_counter()
    total_loss = 0.0
    for data, labels in batches:
        total_loss += step(network, research_loss, optimiser, data, labels)
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
