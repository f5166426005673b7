"""DNN-GDITD: the Gaussian descriptor head with pull, score and effective focal losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from torch import nn

from gditd.detectors.base import FloatArray
from gditd.detectors.network import NetworkDetector
from gditd.nn import GaussianDescriptor, GDITDLoss
from gditd.nn.losses import Beta
from gditd.training.cohort import Backbone
from gditd.training.descent import ProgressCallback
from gditd.training.objectives import Loss


class GDITD(NetworkDetector):
    """Class centres and radii on a network's embedding; a row outside every sphere is strange.

    Parameters
    ----------
    pull_weight, score_weight, efl1_weight, efl2_weight : weights of the four losses.
    gamma, beta, push, reduction : see :class:`gditd.nn.GDITDLoss`.
    block_descent : alternate between head and network as the paper does; False updates both at once.
    The other parameters are those of :class:`NetworkDetector`; the defaults are the paper's.
    """

    def __init__(
        self,
        *,
        pull_weight: float = 1.0,
        score_weight: float = 1.0,
        efl1_weight: float = 1.0,
        efl2_weight: float = 1.0,
        gamma: float = 1.0,
        beta: Beta = "paper",
        push: float = 1.0,
        reduction: str = "sum",
        block_descent: bool = True,
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
        super().__init__(
            backbone=backbone,
            n_members=n_members,
            max_epochs=max_epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            validation_fraction=validation_fraction,
            patience=patience,
            device=device,
            progress=progress,
            random_state=random_state,
        )
        self.pull_weight = pull_weight
        self.score_weight = score_weight
        self.efl1_weight = efl1_weight
        self.efl2_weight = efl2_weight
        self.gamma = gamma
        self.beta = beta
        self.push = push
        self.reduction = reduction
        self.block_descent = block_descent

    def class_scores(self, X: ArrayLike) -> FloatArray:
        """Zeta (n, classes), averaged over members; positive means inside that class's sphere."""
        return self._apply(X, lambda _, description: description.zeta.mean(0))

    def ood_score(self, X: ArrayLike) -> FloatArray:
        """Minus the largest zeta: above 0 the paper's rule calls the row OOD."""
        largest: FloatArray = self.class_scores(X).max(axis=1)
        return -largest

    def training_key(self) -> tuple[Any, ...]:
        """Equal for detectors whose networks train alike; the loss has settings of its own here."""
        weights = (self.pull_weight, self.score_weight, self.efl1_weight, self.efl2_weight)
        return (*super().training_key(), weights, self.gamma, self.beta, self.push, self.reduction)

    def _head(self, dim: int, n_classes: int) -> nn.Module:
        return GaussianDescriptor(n_classes, dim)

    def _loss(self) -> Loss:
        return GDITDLoss(
            pull=self.pull_weight,
            score=self.score_weight,
            efl1=self.efl1_weight,
            efl2=self.efl2_weight,
            gamma=self.gamma,
            beta=self.beta,
            push=self.push,
            reduction=self.reduction,
        )
