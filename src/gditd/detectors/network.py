"""What detectors built on a neural network share: scaling, a cohort, and its settings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from torch import Tensor, nn

from gditd.detectors.base import ArrayDetector, FloatArray
from gditd.model_file import ModelFileError, Tensors
from gditd.nn import MLP, ResidualMLP
from gditd.training import Cohort, DescentSettings, Member
from gditd.training.cohort import Backbone
from gditd.training.descent import ProgressCallback
from gditd.training.objectives import Loss

SLIM_UP_TO = 256  # features: with more, the first layer takes nearly all the time, and slim ones behind it save none


def slim_mlp(n_features: int) -> MLP:
    """As little as does: where the later layers cost something, they are half as wide as the first."""
    return MLP(n_features, widths=(64, 32, 32) if n_features <= SLIM_UP_TO else (64, 64, 64))


BACKBONES: dict[str, Backbone] = {
    "mlp": MLP,
    "mlp-64": partial(MLP, widths=(64, 64, 64)),
    "mlp-slim": slim_mlp,
    "residual": ResidualMLP,
}

# Scaled values are cut off here, so that no row, however extreme, overflows float32 inside the network.
LARGEST_INPUT = 1e6


class NetworkDetector(ArrayDetector):
    """A detector on the embedding of a cohort of networks; the defaults are the paper's.

    Parameters
    ----------
    backbone : "mlp" (three layers of 128), "mlp-64" (of 64), "mlp-slim" (of 64, the later two of 32 with up to 256
        features), "residual", or a callable n_features -> nn.Module whose output is the embedding.
    n_members : networks trained together, each from its own seed; their scores are averaged.
    max_epochs, batch_size, learning_rate : of Adam.
    validation_fraction : share of the training rows set aside for early stopping; 0 trains for all epochs.
    patience : epochs without a better loss on those rows before a member stops.
    device : "auto" (a GPU if there is one), "cpu", "cuda", ...
    progress : called with a :class:`gditd.training.Progress` after each epoch.
    random_state : int, RandomState or None; the same int gives the same bits on a CPU.
    """

    cohort_: Cohort
    mean_: FloatArray
    scale_: FloatArray

    block_descent = False  # detectors whose head has centres and radii alternate between head and network

    def __init__(
        self,
        *,
        backbone: str | Backbone = "mlp",
        n_members: int = 1,
        max_epochs: int = 100,
        batch_size: int = 200,
        learning_rate: float = 1e-3,
        validation_fraction: float = 0.0,
        patience: int = 10,
        device: str = "auto",
        progress: ProgressCallback | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.backbone = backbone
        self.n_members = n_members
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.device = device
        self.progress = progress
        self.random_state = random_state

    @abstractmethod
    def _head(self, dim: int, n_classes: int) -> nn.Module:
        """Make a head for embeddings of width `dim`."""

    @abstractmethod
    def _loss(self) -> Loss:
        """Make the loss on the head's output."""

    def _learn(self, X: FloatArray, codes: NDArray[np.int64], n_classes: int) -> None:
        scaling = Scaling.of(X)
        x = scaling.scaled(X)
        cohort = self._train(x, codes, self._members(len(x)), n_classes, self.progress)
        self._adopt(cohort, scaling, x, codes, n_classes)

    def _members(self, n_rows: int, first_row: int = 0) -> list[Member]:
        """List the members that learn from rows first_row .. first_row + n_rows - 1, each with its own seed."""
        if self.n_members < 1:
            raise ValueError(f"n_members must be at least 1, got {self.n_members}")
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_members)
        rows = np.arange(first_row, first_row + n_rows)
        return [Member(rows, int(seed)) for seed in seeds]

    def _train(
        self,
        x: Tensor,
        codes: NDArray[np.int64],
        members: list[Member],
        n_classes: int,
        progress: ProgressCallback | None,
    ) -> Cohort:
        return Cohort.fit(
            x,
            torch.as_tensor(codes),
            members,
            backbone=resolve_backbone(self.backbone),
            head=lambda dim: self._head(dim, n_classes),
            loss=self._loss(),
            n_classes=n_classes,
            settings=self._settings(),
            callback=progress,
            device=resolve_device(self.device),
        )

    def _adopt(self, cohort: Cohort, scaling: Scaling, x: Tensor, codes: NDArray[np.int64], n_classes: int) -> None:
        """Take over a trained cohort; only now, for an interrupted fit leaves the estimator as it was."""
        self.mean_, self.scale_, self.cohort_ = scaling.mean, scaling.scale, cohort
        self._after_training(x, codes, n_classes)

    def training_key(self) -> tuple[Any, ...]:
        """Equal for detectors whose networks train alike, whatever they make of them afterwards."""
        return (type(self)._head, type(self)._loss, self._settings(), self.backbone, self.n_members, self.device)

    def _after_training(self, x: Tensor, codes: NDArray[np.int64], n_classes: int) -> None:
        """Learn from the trained cohort and the scaled training rows; nothing by default."""

    def _settings(self) -> DescentSettings:
        return DescentSettings(
            max_epochs=self.max_epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            block_descent=self.block_descent,
            validation_fraction=self.validation_fraction,
            patience=self.patience,
        )

    def _apply(self, X: ArrayLike, summarise: Callable[[Tensor, Any], Tensor]) -> FloatArray:
        """Check and scale rows, then summarise what the cohort says of them."""
        rows = self._check_rows(X)
        x = Scaling(self.mean_, self.scale_).scaled(rows)
        summary: FloatArray = self.cohort_.apply(x, summarise).float().numpy()
        return summary

    def _tensors(self) -> Tensors:
        tensors: Tensors = {"mean": self.mean_, "scale": self.scale_}
        tensors |= {f"network.{name}": value for name, value in self.cohort_.network.items()}
        tensors |= {f"head.{name}": value for name, value in self.cohort_.head.items()}
        return tensors

    def _restore(self, tensors: Tensors, document: dict[str, Any]) -> None:
        self.mean_ = np.asarray(tensors["mean"], dtype=np.float64)
        self.scale_ = np.asarray(tensors["scale"], dtype=np.float64)
        if self.mean_.shape != (self.n_features_in_,) or self.scale_.shape != (self.n_features_in_,):
            raise ModelFileError("its scaling does not fit its number of columns")
        self.cohort_ = Cohort.restore(
            part_of(tensors, "network."),
            part_of(tensors, "head."),
            n_features=self.n_features_in_,
            backbone=resolve_backbone(self.backbone),
            head_factory=lambda dim: self._head(dim, len(self.classes_)),
            loss=self._loss(),
        )


@dataclass(frozen=True)
class Scaling:
    """Mean and standard deviation of each column in float64; a constant column has scale 1."""

    mean: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, X: FloatArray) -> Scaling:
        """Measure training rows."""
        mean = X.mean(axis=0, dtype=np.float64)
        scale = X.std(axis=0, dtype=np.float64)
        # A spread within the rounding of the mean is no spread.
        constant = scale <= 10 * np.finfo(np.float64).eps * np.abs(mean)
        return cls(mean, np.where(constant, 1.0, scale))

    def scaled(self, X: FloatArray) -> Tensor:
        """Z-scores as float32, cut off at a size no real value has."""
        z = np.clip((X - self.mean) / self.scale, -LARGEST_INPUT, LARGEST_INPUT)
        return torch.from_numpy(z.astype(np.float32))


def resolve_backbone(backbone: str | Backbone) -> Backbone:
    """Turn the `backbone` setting into a callable n_features -> nn.Module."""
    if callable(backbone):
        return backbone
    if backbone not in BACKBONES:
        names = ", ".join(f'"{name}"' for name in BACKBONES)
        raise ValueError(f"backbone must be {names} or a callable n_features -> nn.Module, got {backbone!r}")
    return BACKBONES[backbone]


def resolve_device(device: str) -> torch.device:
    """Turn the `device` setting into a torch device."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f'device must be "auto", "cpu", "cuda" or another that torch knows, got {device!r}') from error


def part_of(tensors: Mapping[str, Tensor | NDArray[Any]], prefix: str) -> dict[str, Tensor]:
    """Take the tensors whose name starts with a prefix, without it."""
    return {
        name.removeprefix(prefix): torch.as_tensor(value) for name, value in tensors.items() if name.startswith(prefix)
    }
