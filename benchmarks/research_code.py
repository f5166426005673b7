"""The paper's four methods the way research code has them, as something to time the package against.

One network at a time: a DataLoader with one worker that starts anew each epoch, distances through repeat(), a mask of
own classes, one Adam for everything, .item() after every step. Each method trains its own network, as separate
scripts do. Such code also evaluates the test fold after every epoch; here it does so once, at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.covariance import EmpiricalCovariance
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from gditd import metrics

BATCH, WIDTH = 200, 128
LEARNING_RATE = 1e-3

Loader = DataLoader[tuple[Tensor, ...]]
Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
"""A network's two outputs and the labels -> the loss."""
Score = Callable[[Tensor, Tensor], Tensor]
"""A network's two outputs -> how strange each row is."""


def mlp(n_features: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(n_features, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)
    )


class SoftmaxNetwork(nn.Module):
    """(batch, f) -> embedding and logits."""

    def __init__(self, n_features: int, n_classes: int) -> None:
        super().__init__()
        self.layers = mlp(n_features)
        self.last = nn.Linear(WIDTH, n_classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        embedding = self.layers(x)
        return embedding, self.last(embedding)


class ResearchNetwork(nn.Module):
    """Network, centres and radii in one module, distances through repeat(). (batch, f) -> distances and zeta."""

    def __init__(self, n_features: int, n_classes: int) -> None:
        super().__init__()
        self.n_classes = n_classes
        self.layers = mlp(n_features)
        self.centers = nn.Parameter(torch.randn(n_classes, WIDTH))
        self.log_sigmas = nn.Parameter(torch.zeros(n_classes))

    def distances(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Distances and the logarithm of the radii."""
        out = self.layers(x)
        out = out.unsqueeze(1).repeat(1, self.n_classes, 1)
        centers = self.centers.unsqueeze(0).repeat(len(x), 1, 1)
        log_sigmas = torch.relu(self.log_sigmas)
        distances = ((out - centers) ** 2).sum(2) / 2 / torch.exp(2 * log_sigmas) + WIDTH * log_sigmas
        return distances, log_sigmas

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        distances, log_sigmas = self.distances(x)
        return distances, torch.exp(log_sigmas) - distances


class BiasedNetwork(ResearchNetwork):
    """Deep-MCDD's network, with a bias per class. (batch, f) -> distances and logits."""

    def __init__(self, n_features: int, n_classes: int) -> None:
        super().__init__(n_features, n_classes)
        self.alphas = nn.Parameter(torch.zeros(n_classes))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        distances, _ = self.distances(x)
        return distances, -distances + self.alphas


def softmax_loss(embedding: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    return nn.functional.cross_entropy(logits, labels)


def deep_mcdd_loss(distances: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    own = own_classes(distances, labels)
    return (own * distances).sum(1).mean() + nn.functional.cross_entropy(logits, labels)


def research_loss(distances: Tensor, zeta: Tensor, labels: Tensor) -> Tensor:
    """The four losses of GDITD."""
    own = own_classes(distances, labels)
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


def own_classes(distances: Tensor, labels: Tensor) -> Tensor:
    """1 for each row's own class, 0 elsewhere."""
    return torch.zeros(distances.shape).scatter_(1, labels.unsqueeze(1), 1)


def step(network: nn.Module, loss_of: Loss, optimiser: torch.optim.Optimizer, data: Tensor, labels: Tensor) -> float:
    """One batch forward, backward and update."""
    first, second = network(data)
    loss = loss_of(first, second, labels)
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
    return loss.item()


def adam(network: nn.Module) -> torch.optim.Adam:
    return torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)


def loader(x: Tensor, y: Tensor, *, shuffle: bool) -> Loader:
    return DataLoader(TensorDataset(x, y), BATCH, shuffle=shuffle, num_workers=1)


def train(network: nn.Module, loss_of: Loss, batches: Loader, epochs: int) -> None:
    optimiser = adam(network)
    for _ in range(epochs):
        total_loss = 0.0
        for data, labels in batches:
            total_loss += step(network, loss_of, optimiser, data, labels)


def max_probability(network: nn.Module, batches: Loader) -> Score:
    return lambda embedding, logits: 1 - torch.softmax(logits, 1).max(1).values


def nearest_distance(network: nn.Module, batches: Loader) -> Score:
    return lambda distances, logits: distances.min(1).values


def largest_zeta(network: nn.Module, batches: Loader) -> Score:
    return lambda distances, zeta: -zeta.max(1).values


def mahalanobis(network: nn.Module, batches: Loader) -> Score:
    """Class means and one covariance of the embedding of the training rows, in float64: float32 can cost 20 points."""
    outputs = [(network(data)[0], labels) for data, labels in batches]
    embedding = torch.cat([out for out, _ in outputs]).double()
    labels = torch.cat([label for _, label in outputs])
    means = torch.stack([embedding[labels == c].mean(0) for c in range(int(labels.max()) + 1)])
    fitted = EmpiricalCovariance(assume_centered=True).fit((embedding - means[labels]).numpy())
    precision = torch.from_numpy(fitted.precision_)

    def score(embedding: Tensor, logits: Tensor) -> Tensor:
        centred = [embedding - mean for mean in means]
        return torch.stack([((z @ precision) * z).sum(1) for z in centred], 1).min(1).values

    return score


@dataclass(frozen=True)
class ResearchMethod:
    """What one script trains, and how it scores afterwards."""

    network: Callable[[int, int], nn.Module]
    loss: Loss
    score: Callable[[nn.Module, Loader], Score]


METHODS: Mapping[str, ResearchMethod] = {
    "softmax": ResearchMethod(SoftmaxNetwork, softmax_loss, max_probability),
    "mahalanobis": ResearchMethod(SoftmaxNetwork, softmax_loss, mahalanobis),
    "deep-mcdd": ResearchMethod(BiasedNetwork, deep_mcdd_loss, nearest_distance),
    "gditd-paper": ResearchMethod(ResearchNetwork, research_loss, largest_zeta),
}


@dataclass(frozen=True)
class Fold:
    """Scaled rows (n, f) and class numbers (n,) from 0; rows of the class held out are tested as class -1."""

    train_x: Tensor
    train_y: Tensor
    test_x: Tensor
    test_y: Tensor
    minority: int

    @property
    def n_classes(self) -> int:
        return int(self.train_y.max()) + 1

    @property
    def steps(self) -> int:
        """Steps of one epoch."""
        return -(-len(self.train_y) // BATCH)


@dataclass(frozen=True)
class Timed:
    """How long one network took, and what came of it."""

    train_seconds: float
    score_seconds: float
    figures: dict[str, float | None]


def run_fold(name: str, fold: Fold, epochs: int) -> Timed:
    """Train one network on one fold and test it."""
    method = METHODS[name]
    torch.manual_seed(0)
    started = time.perf_counter()
    network = method.network(fold.train_x.shape[1], fold.n_classes)
    batches = loader(fold.train_x, fold.train_y, shuffle=True)
    train(network, method.loss, batches, epochs)
    trained = time.perf_counter()
    with torch.no_grad():
        score = method.score(network, batches)
        outputs = [network(data) for data, _ in loader(fold.test_x, fold.test_y, shuffle=False)]
        strangeness = torch.cat([score(*output) for output in outputs])
        probabilities = torch.cat([torch.softmax(output[1], 1) for output in outputs])
    figures = five_figures(strangeness.numpy(), probabilities.numpy(), fold)
    return Timed(trained - started, time.perf_counter() - trained, figures)


def five_figures(
    strangeness: NDArray[np.float32], probabilities: NDArray[np.float32], fold: Fold
) -> dict[str, float | None]:
    """The metrics of the paper."""
    codes = fold.test_y.numpy()
    is_ood = codes < 0
    known = probabilities[~is_ood]
    return {
        "id_accuracy": metrics.accuracy(codes[~is_ood], known.argmax(axis=1)),
        "tnr_at_85_tpr": metrics.tnr_at_tpr(is_ood, strangeness),
        "ood_auroc": metrics.ood_auroc(is_ood, strangeness),
        "ood_aupr": metrics.ood_aupr(is_ood, strangeness),
        "minority_aupr": metrics.class_aupr(codes[~is_ood], known[:, fold.minority], fold.minority),
    }
