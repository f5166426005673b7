"""What a fit leaves behind, and how it scores: encoder, cohort, calibration and explanations as one thing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import log_softmax
from torch import Tensor

from gditd.calibration import ClassCalibrator
from gditd.detectors.base import FloatArray
from gditd.detectors.network import part_of, resolve_backbone
from gditd.explain import Explainer
from gditd.lens import Lens
from gditd.model_file import ModelFileError, Tensors
from gditd.nn import GaussianDescriptor, GDITDLoss
from gditd.presets import Settings
from gditd.tables import TableEncoder
from gditd.training import Cohort
from gditd.training.cohort import Backbone
from gditd.views import Forecast, Fusion
from gditd.views.looks import Looks


@dataclass(frozen=True)
class Scored:
    """Of n rows: scores for each class (n, classes), and those that calibrating folds go by (n, folds, classes)."""

    classes: FloatArray
    by_fold: FloatArray


@dataclass(frozen=True)
class Named(Scored):
    """Besides those scores, how strange rows are (n,), and logarithms of the classes' probabilities (n, classes).

    These two may go by what the rows that calibrate have taught.
    """

    ood_scores: FloatArray
    log_probabilities: FloatArray


@dataclass(eq=False)
class FittedModel:
    """Everything learned from a table, with class numbers in place of class names."""

    encoder: TableEncoder
    cohort: Cohort
    folds: NDArray[np.int64]
    """The folds that calibrate, ascending: m for member m alone, n_members for the mean of all."""
    explainer: Explainer
    backbone: str | Backbone
    """Of the members, as it was chosen: what a preset stands for may change, and a model file has to know."""
    calibrator: ClassCalibrator | None = None
    temperature: float = 1.0
    fusion: Fusion | None = None
    forecast: Forecast | None = None

    def scored(self, values: Tensor) -> Scored:
        """Score encoded rows (n, width) for every class."""
        if self.fusion is None:
            return self._by_zeta(values)
        scores = self._lessened(self.fusion.scores(self.fusion.look(self.cohort, values)), values)
        return Scored(scores, scores[:, None])

    def ood_scores(self, values: Tensor) -> FloatArray:
        """How strange each row is, (n,), whichever class is the likeliest."""
        if self.fusion is None:
            return strangeness_of(self._by_zeta(values).classes)
        return self._strangeness(self.fusion, self.fusion.look_completely(self.cohort, values), values)

    def named(self, values: Tensor) -> Named:
        """Score encoded rows in all ways, which costs more."""
        if self.fusion is None:
            scored = self._by_zeta(values)
            log_p = log_softmax(scored.classes.astype(np.float64) / self.temperature, axis=1)
            return Named(scored.classes, scored.by_fold, strangeness_of(scored.classes), log_p)
        looks, complete = self.fusion.look_twice(self.cohort, values)
        scores = self._lessened(self.fusion.scores(looks), values)
        strangeness = self._strangeness(self.fusion, complete, values)
        return Named(scores, scores[:, None], strangeness, self.fusion.named(complete, values))

    def log_probabilities(self, values: Tensor) -> FloatArray:
        """Of each class, (n, classes), for encoded rows."""
        if self.fusion is None:
            return self.named(values).log_probabilities
        return self.fusion.named(self.fusion.look_completely(self.cohort, values), values)

    def class_scores(self, values: Tensor) -> FloatArray:
        """Scores (n, classes) that go by what ranks rows; a row's largest is minus its OOD score."""
        if self.fusion is None:
            return self._by_zeta(values).classes
        looks = self.fusion.look_completely(self.cohort, values)
        return self._lessened(self.fusion.scores_by(self.fusion.named(looks, values), looks), values)

    def _strangeness(self, fusion: Fusion, looks: Looks, values: Tensor) -> FloatArray:
        return -self._lessened(-fusion.strangeness(looks)[:, None], values)[:, 0]

    def _by_zeta(self, values: Tensor) -> Scored:
        zeta = self.zeta(values)
        return Scored(zeta.mean(axis=1), self.by_fold(zeta))

    def _lessened(self, scores: NDArray[np.float64], values: Tensor) -> FloatArray:
        """What no training row had counts against every class alike."""
        lessened: FloatArray = (scores - self._never_seen(values).numpy()).astype(np.float32)
        return lessened

    def zeta(self, values: Tensor) -> FloatArray:
        """Zeta of encoded rows (n, width) by every member, (n, members, classes).

        What no training row had, an unseen category or a gap where there was none, counts in full against every
        class: a network cannot learn what to make of an input that was always zero.
        """
        zeta = self.cohort.apply(values, lambda _, description: description.zeta.transpose(0, 1))
        scored: FloatArray = (zeta - self._never_seen(values).unsqueeze(2)).float().numpy()
        return scored

    def mean_zeta(self, values: Tensor) -> FloatArray:
        """Zeta averaged over members, (n, classes)."""
        mean: FloatArray = self.zeta(values).mean(axis=1)
        return mean

    def by_fold(self, zeta: FloatArray) -> FloatArray:
        """What each calibrating fold goes by: (n, members, classes) -> (n, folds, classes)."""
        everyone = zeta.mean(axis=1, keepdims=True)
        by_fold: FloatArray = np.concatenate([zeta, everyone], axis=1)[:, self.folds]
        return by_fold

    def p_values(self, by_fold: FloatArray) -> NDArray[np.float64]:
        """Class-wise p-values (n, classes) from the scores of every calibrating fold (n, folds, classes)."""
        if self.calibrator is None:
            raise ValueError(
                'this model is not calibrated and has no p-values: fit it with calibration="cross" or "split"'
            )
        return self.calibrator.p_values(-by_fold.transpose(1, 0, 2))

    def _never_seen(self, values: Tensor) -> Tensor:
        """How much of a row no training row had, (n, 1)."""
        return values[:, self._evidence].sum(dim=1, keepdim=True, dtype=torch.float64)

    @cached_property
    def _evidence(self) -> Tensor:
        return torch.tensor(self.encoder.evidence_features, dtype=torch.int64)

    @property
    def as_calibrated(self) -> FittedModel:
        """The same without all that rows taught which calibrate it: it meets these as it would meet new ones."""
        return self if self.fusion is None else replace(self, fusion=self.fusion.as_calibrated)

    @property
    def ranks_as_calibrated(self) -> bool:
        """Whether OOD scores are what p-values are made of, and know nothing else."""
        return self.fusion is None or self.fusion.complete is None

    # --- the model file ---

    def document(self, *, keep_examples: bool) -> dict[str, Any]:
        """Return what is plain JSON."""
        document: dict[str, Any] = {
            "encoder": self.encoder.state()[0],
            "explainer": self.explainer.state(keep_examples=keep_examples)[0],
        }
        if isinstance(self.backbone, str):
            document["backbone"] = self.backbone
        if self.calibrator is not None:
            document["calibrator"] = self.calibrator.state()[0]
        if self.fusion is not None:
            document["views"] = self.fusion.views.names
        if self.forecast is not None:
            document["forecast"] = self.forecast.document()
        return document

    def tensors(self, *, keep_examples: bool) -> Tensors:
        """Return what is numbers."""
        parts: dict[str, Any] = {
            "encoder": self.encoder.state()[1],
            "network": self.cohort.network,
            "lens": self.cohort.lens.state() if isinstance(self.cohort.lens, Lens) else {},
            "head": self.cohort.head,
            "explainer": self.explainer.state(keep_examples=keep_examples)[1],
            "calibrator": {} if self.calibrator is None else self.calibrator.state()[1],
            "fusion": {} if self.fusion is None else self.fusion.state(),
        }
        named: Tensors = {f"{part}.{name}": value for part, own in parts.items() for name, value in own.items()}
        return named | {"folds": self.folds, "temperature": np.array([self.temperature])}

    @classmethod
    def restore(cls, tensors: Tensors, document: dict[str, Any], *, n_classes: int, settings: Settings) -> FittedModel:
        """Take back what `tensors` and `document` gave."""
        encoder = TableEncoder.from_state(document["encoder"], part_of(tensors, "encoder."))
        lens = part_of(tensors, "lens.")
        backbone = document.get("backbone", settings.backbone)
        cohort = Cohort.restore(
            part_of(tensors, "network."),
            part_of(tensors, "head."),
            n_features=encoder.width,
            backbone=resolve_backbone(backbone),
            head_factory=lambda dim: GaussianDescriptor(n_classes, dim),
            loss=GDITDLoss(beta=settings.beta),
            lens=Lens.from_state(lens, encoder) if lens else None,
        )
        folds = np.asarray(tensors["folds"], dtype=np.int64)
        if folds.ndim != 1 or (len(folds) and (folds.min() < 0 or folds.max() > cohort.n_members)):
            raise ModelFileError("its folds do not fit its members")
        explainer = Explainer.from_state(
            document["explainer"], part_of(tensors, "explainer."), encoder=encoder, n_classes=n_classes
        )
        temperature = float(np.asarray(tensors["temperature"])[0])
        model = cls(encoder, cohort, folds, explainer, backbone, temperature=temperature)
        if "calibrator" in document:
            arrays = {name: value.numpy() for name, value in part_of(tensors, "calibrator.").items()}
            model.calibrator = ClassCalibrator.from_state(document["calibrator"], arrays)
        if "views" in document:
            model.fusion = Fusion.from_state(document["views"], part_of(tensors, "fusion."), n_classes)
        if "forecast" in document:
            model.forecast = Forecast.from_document(document["forecast"])
        return model

    def try_out(self) -> None:
        """Score two made-up rows, so that parts that do not fit together are found out."""
        scored = self.named(torch.zeros(2, self.encoder.width))
        if self.calibrator is not None:
            self.p_values(scored.by_fold)


def strangeness_of(scores: FloatArray) -> FloatArray:
    """Minus the largest score of each row, (n,)."""
    largest: FloatArray = scores.max(axis=1)
    return -largest
