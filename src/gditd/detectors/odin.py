"""ODIN: temperature and a small step of the input towards confidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from gditd.detectors.base import FloatArray
from gditd.detectors.network import Scaling
from gditd.detectors.softmax_network import SoftmaxNetwork
from gditd.model_file import Tensors
from gditd.training.descent import CHUNK_ROWS
from gditd.training.runtime import one_thread

TEMPERATURE = 1000.0
STEPS = (0.0, 0.00125, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08)
ROWS_FOR_TUNING = 2_000


class ODIN(SoftmaxNetwork):
    """Softmax at temperature 1000 after a small input step that raises confidence (Liang et al. 2018).

    The step size is the one that raises the confidence of known rows most (Hsu et al. 2020), chosen on training
    rows, so no OOD row is needed.
    """

    step_: float

    def ood_score(self, X: ArrayLike) -> FloatArray:
        """1 - max tempered probability of the stepped input, averaged over members."""
        x = Scaling(self.mean_, self.scale_).scaled(self._check_rows(X))
        return 1 - self._confidence(x, self.step_).numpy()

    def _after_training(self, x: Tensor, codes: NDArray[np.int64], n_classes: int) -> None:
        chosen = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))[:ROWS_FOR_TUNING]
        gains = [self._confidence(x[chosen], step).mean().item() for step in STEPS]
        self.step_ = STEPS[int(np.argmax(gains))]

    def _confidence(self, x: Tensor, step: float) -> Tensor:
        with one_thread():
            return torch.cat([self._confidence_of(chunk, step) for chunk in torch.split(x, CHUNK_ROWS)])

    def _confidence_of(self, x: Tensor, step: float) -> Tensor:
        x = x.to(self.cohort_.device).detach().requires_grad_()
        with torch.enable_grad():
            log_p = self._tempered(x).amax(-1)
            (slope,) = torch.autograd.grad(log_p.sum(), x)
        with torch.no_grad():
            return self._tempered(x + step * slope.sign()).exp().amax(-1).mean(0).float().cpu()

    def _tempered(self, x: Tensor) -> Tensor:
        """Tempered log probabilities (members, n, classes)."""
        logits = self.cohort_.describe(self.cohort_.embed(x))
        assert isinstance(logits, Tensor)
        return (logits / TEMPERATURE).log_softmax(-1)

    def _tensors(self) -> Tensors:
        return super()._tensors() | {"step": np.array([self.step_])}

    def _restore(self, tensors: Tensors, document: dict[str, Any]) -> None:
        super()._restore(tensors, document)
        self.step_ = float(np.asarray(tensors["step"])[0])
