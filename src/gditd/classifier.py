"""GDITDClassifier: the front door."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gditd.detectors.base import Detector, FloatArray
from gditd.detectors.gditd import GDITD
from gditd.model_file import Tensors
from gditd.presets import preset_settings
from gditd.training.cohort import Backbone
from gditd.training.descent import ProgressCallback


class GDITDClassifier(Detector):
    """x."""

    detector_: GDITD

    def __init__(
        self,
        *,
        preset: str = "default",
        alpha: float = 0.05,
        backbone: str | Backbone | None = None,
        max_epochs: int | None = None,
        device: str = "auto",
        progress: ProgressCallback | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.preset = preset
        self.alpha = alpha
        self.backbone = backbone
        self.max_epochs = max_epochs
        self.device = device
        self.progress = progress
        self.random_state = random_state

    def class_scores(self, X: ArrayLike) -> FloatArray:
        rows = self._check_rows(X)
        return self.detector_.class_scores(rows)

    def ood_score(self, X: ArrayLike) -> FloatArray:
        rows = self._check_rows(X)
        return self.detector_.ood_score(rows)

    def _learn(self, X: FloatArray, codes: NDArray[np.int64], n_classes: int) -> None:
        self.detector_ = self._detector().fit(X, codes)

    def _detector(self) -> GDITD:
        settings = preset_settings(self.preset)
        chosen = {"backbone": self.backbone, "max_epochs": self.max_epochs}
        chosen = {name: value for name, value in chosen.items() if value is not None}
        return GDITD(
            **(settings | chosen), device=self.device, progress=self.progress, random_state=self.random_state
        )

    def _tensors(self) -> Tensors:
        return self.detector_._tensors()

    def _restore(self, tensors: Tensors) -> None:
        detector = self._detector()
        detector.classes_ = np.arange(len(self.classes_))
        detector.n_features_in_ = self.n_features_in_
        detector._restore(tensors)
        self.detector_ = detector
