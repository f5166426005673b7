"""GDITDClassifier: raw tables in, calibrated verdicts out."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from gditd.calibration import (
    OOD,
    ClassCalibrator,
    Rule,
    decide,
    false_discovery,
    merge_rare,
    sign_rule,
    smallest_alpha,
)
from gditd.detectors.base import Detector, FloatArray
from gditd.detectors.network import part_of, resolve_backbone, resolve_device
from gditd.explain import Explainer, Explanation
from gditd.inputs import new_table, training_table
from gditd.labels import encode_labels
from gditd.model_file import ModelFileError, Tensors
from gditd.nn import GaussianDescriptor, GDITDLoss
from gditd.nn.losses import Beta
from gditd.plan import Calibration, Plan, make_plan
from gditd.presets import Settings, chosen_settings, refuse_unfit
from gditd.summary import summarise
from gditd.tables import EncodedTable, TableEncoder, TableError
from gditd.tables.numbers import Numbers
from gditd.temperature import fit_temperature
from gditd.training import Cohort, DescentSettings
from gditd.training.cohort import Backbone
from gditd.training.descent import ProgressCallback


class RareClassWarning(UserWarning):
    """A class has too few rows for the promise asked for."""


class GDITDClassifier(Detector):
    """Classify rows of a table, or say that they belong to no known class, with a promise on false alarms.

    Takes numpy arrays, pandas, polars and Arrow tables with numbers, categories, booleans, dates and missing values.

    Parameters
    ----------
    preset : "default", "fast" (one member, quicker to fit and score) or "paper" (the paper, to the letter).
    alpha : the share of each known class's own new rows that may be called OOD.
    rule : "conformal" (class-wise p-values) or "sign" (the paper's rule, which promises nothing).
    calibration : "cross" (every row trains; the proven bound is about 2 alpha), "split" (three rows in ten are kept
        for calibration; the proven bound is alpha) or "none".
    numbers : how number columns are encoded: "zscore", "quantile" or "piecewise".
    ignore : names of columns to leave out.
    on_error : "raise", or "ood" to call a row that cannot be read OOD and say why.
    keep_examples : let :meth:`save` write some training rows too, for a loaded model to show the most similar one.
    backbone : "mlp", "residual", or a callable n_features -> nn.Module whose output is the embedding.
    n_members, max_epochs, batch_size, learning_rate : of training.
    validation_fraction : share of each member's rows set aside for early stopping; 0 trains for all epochs.
    beta : "paper", "effective" or a number, see :class:`gditd.nn.GDITDLoss`.
    rare_per_batch : repeat rows of rare classes until a batch holds about this many of each class.
    device : "auto" (a GPU if there is one), "cpu", "cuda", ...
    progress : called with a :class:`gditd.training.Progress` after each epoch.
    random_state : int, RandomState or None; the same int gives the same bits on a CPU.

    None stands for what the preset has.
    """

    encoder_: TableEncoder
    cohort_: Cohort
    plan_folds_: NDArray[np.int64]
    calibrator_: ClassCalibrator | None
    temperature_: float
    class_counts_: NDArray[np.int64]
    explainer_: Explainer

    def __init__(
        self,
        *,
        preset: str = "default",
        alpha: float = 0.05,
        rule: Rule | None = None,
        calibration: Calibration | None = None,
        numbers: Numbers | None = None,
        ignore: tuple[str, ...] = (),
        on_error: Literal["raise", "ood"] = "raise",
        keep_examples: bool = False,
        backbone: str | Backbone | None = None,
        n_members: int | None = None,
        max_epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        validation_fraction: float | None = None,
        beta: Beta | None = None,
        rare_per_batch: int | None = None,
        device: str = "auto",
        progress: ProgressCallback | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.preset = preset
        self.alpha = alpha
        self.rule = rule
        self.calibration = calibration
        self.numbers = numbers
        self.ignore = ignore
        self.on_error = on_error
        self.keep_examples = keep_examples
        self.backbone = backbone
        self.n_members = n_members
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.beta = beta
        self.rare_per_batch = rare_per_batch
        self.device = device
        self.progress = progress
        self.random_state = random_state

    # --- the life cycle ---

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from a table and the class of each row."""
        settings = self._settings()
        refuse_unfit(alpha=self.alpha, on_error=self.on_error, ignore=self.ignore)
        probe = clone(self)
        classes, codes = encode_labels(y)
        table = training_table(probe, X)
        if "OOD" in classes.tolist():
            raise ValueError('a class cannot be named "OOD", the verdict on rows of no known class: rename it')
        if table.num_rows != len(codes):
            raise ValueError(f"the table has {table.num_rows} rows and there are {len(codes)} labels: give one each")
        rng = check_random_state(self.random_state)
        plan = make_plan(codes, calibration=settings.calibration, n_members=settings.n_members, rng=rng)
        encoder, values = self._learn_columns(table, plan, settings)
        cohort = self._train(values, codes, len(classes), plan, settings)
        held_out = encoder.hide_lonely_categories(values, table, plan.fold_of_row)
        explainer = Explainer.learn(table, values, codes, n_classes=len(classes), encoder=encoder)
        # Only now: an interrupted or failed fit leaves the estimator as it was.
        self.classes_ = classes
        self.class_counts_ = np.bincount(codes)
        self.encoder_, self.cohort_, self.plan_folds_ = encoder, cohort, plan.fold_of_member
        self.explainer_ = explainer
        self._remember_columns(probe)
        self._calibrate(held_out, codes, plan.fold_of_row)
        self._warn_of_rare_classes()
        return self

    def class_scores(self, X: Any) -> FloatArray:
        """Zeta (n, classes), averaged over members; positive means inside that class's sphere."""
        zeta: FloatArray = self._zeta(self._encode(X).values).mean(axis=1)
        return zeta

    def predict_proba(self, X: Any) -> FloatArray:
        """Return a probability per known class (n, classes), calibrated on rows the members did not see."""
        probabilities: FloatArray = softmax(self.class_scores(X) / self.temperature_, axis=1)
        return probabilities

    def ood_score(self, X: Any) -> FloatArray:
        """Minus the largest zeta: higher = more likely of no known class."""
        largest: FloatArray = self.class_scores(X).max(axis=1)
        return -largest

    def p_values(self, X: Any) -> FloatArray:
        """Class-wise conformal p-values (n, classes); small means strange for that class."""
        encoded = self._encode(X)
        p = self._p_values(self._zeta(encoded.values))
        p[list(encoded.row_errors)] = 0.0
        return p

    def verdict(
        self,
        X: Any,
        alpha: float | None = None,
        *,
        control: Literal["row", "table"] = "row",
        rows_before: int = 0,
    ) -> pd.DataFrame:
        """Give each row a verdict: a known class, or "OOD".

        Columns: verdict, known_class (the most likely one in any case), p_value (of the best class; small means OOD),
        ood_score; with on_error="ood" also error. control="table" bounds the expected share of false alarms among
        all alarms of this table by alpha (Benjamini-Hochberg) instead of the false-alarm rate per class.
        `rows_before` is how many rows of the same file came before X, so that messages count as the file does.
        """
        alpha = self.alpha if alpha is None else alpha
        encoded = self._encode(X, rows_before)
        by_member = self._zeta(encoded.values)
        zeta = by_member.mean(axis=1)
        p = self._p_values(by_member) if self.calibrator_ is not None else np.full(zeta.shape, np.nan)
        p[list(encoded.row_errors)] = 0.0
        winners = self._winners(zeta, p, alpha, control)
        winners[list(encoded.row_errors)] = OOD
        frame = pd.DataFrame(
            {
                "verdict": np.append(self.classes_.astype(object), "OOD")[winners],  # OOD is -1, the last
                "known_class": self.classes_[zeta.argmax(axis=1)],
                "p_value": p.max(axis=1),
                "ood_score": -zeta.max(axis=1),
            }
        )
        if self.on_error == "ood":
            errors = [encoded.row_errors.get(row) for row in range(len(frame))]
            frame["error"] = pd.Series(errors, dtype=object)
        return frame

    def explain(self, X: Any, *, n_columns: int = 5) -> list[Explanation]:
        """Say for each row which columns push it out of the known classes, most important first.

        At most `n_columns` columns are named, each with the value seen, what is usual and its share of the reason;
        besides them the most similar known row, if the model was not loaded from a file without examples.
        """
        if not isinstance(n_columns, int | np.integer) or n_columns < 1:
            raise ValueError(f"n_columns must be a whole number of at least 1, got {n_columns!r}: ask for 1 or more")
        check_is_fitted(self)
        table = new_table(self, X)
        encoded = self._encode(table)
        return self.explainer_.explain(
            table,
            encoded,
            classes=self.classes_,
            zeta=self._zeta(encoded.values).mean(axis=1),
            scores=lambda values: torch.from_numpy(self._zeta(values).mean(axis=1)),
            n_columns=int(n_columns),
        )

    # --- what is promised ---

    def promises(self, alpha: float | None = None) -> pd.DataFrame:
        """What holds for each class at alpha: its rows, the proven bound on its false alarms, the smallest alpha.

        `calibrated_with` lists the classes that share their calibration rows with it: the bound then holds for their
        rows together. Nothing is promised (NaN) for a class of one row, which none of them calibrates.
        """
        check_is_fitted(self)
        alpha = self.alpha if alpha is None else alpha
        frame = pd.DataFrame({"class": self.classes_, "rows": self.class_counts_})
        if self.calibrator_ is None:
            return frame.assign(promise=np.nan, smallest_alpha=np.nan, calibrated_with="")
        groups = self.calibrator_.groups
        partners = [
            ", ".join(str(other) for c, other in enumerate(self.classes_) if groups[c] == groups[own] and c != own)
            for own in range(len(groups))
        ]
        return frame.assign(
            promise=np.where(self.class_counts_ > 1, self.calibrator_.promise(alpha), np.nan),
            smallest_alpha=smallest_alpha(self.calibrator_.counts),
            calibrated_with=partners,
        )

    def summary(self) -> dict[str, Any]:
        """Describe the model in plain values, for JSON: settings, what is proven, classes with promises, columns."""
        check_is_fitted(self)
        return summarise(self)

    # --- scikit-learn ---

    def __sklearn_tags__(self) -> Tags:
        """Missing values and categories are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    # --- inside ---

    def _settings(self) -> Settings:
        return chosen_settings(
            self.preset,
            rule=self.rule,
            calibration=self.calibration,
            numbers=self.numbers,
            backbone=self.backbone,
            n_members=self.n_members,
            max_epochs=self.max_epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            validation_fraction=self.validation_fraction,
            beta=self.beta,
            rare_per_batch=self.rare_per_batch,
        )

    def _learn_columns(self, table: pa.Table, plan: Plan, settings: Settings) -> tuple[TableEncoder, Tensor]:
        """Learn the columns and encode the table.

        Where split calibration holds rows out, they are held out here too: ranges and categories that know the
        rows that calibrate would make new rows look stranger than them.
        """
        encoder = TableEncoder(numbers=settings.numbers).fit(table, ignore=list(self.ignore))
        if settings.calibration == "split":
            own_rows = table.filter(pa.array(plan.fold_of_row < 0))
            try:
                narrow = TableEncoder(numbers=settings.numbers).fit(own_rows, ignore=list(self.ignore))
                return narrow, narrow.transform(table).values
            except TableError:  # it takes the rows held out to see what a column is
                pass
        return encoder, encoder.transform(table).values

    def _train(
        self, values: Tensor, codes: NDArray[np.int64], n_classes: int, plan: Plan, settings: Settings
    ) -> Cohort:
        return Cohort.fit(
            values,
            torch.as_tensor(codes),
            plan.members,
            backbone=resolve_backbone(settings.backbone),
            head=lambda dim: GaussianDescriptor(n_classes, dim),
            loss=GDITDLoss(beta=settings.beta),
            n_classes=n_classes,
            settings=DescentSettings(
                max_epochs=settings.max_epochs,
                batch_size=settings.batch_size,
                learning_rate=settings.learning_rate,
                validation_fraction=settings.validation_fraction,
                patience=settings.patience,
                rare_per_batch=settings.rare_per_batch,
            ),
            callback=self.progress,
            device=resolve_device(self.device),
        )

    def _calibrate(self, values: Tensor, codes: NDArray[np.int64], fold_of_row: NDArray[np.int64]) -> None:
        """Learn from rows that the members scoring them did not see: p-values and the temperature."""
        rows = np.flatnonzero(fold_of_row >= 0)
        self.calibrator_, self.temperature_ = None, 1.0
        if self._settings().calibration == "none":
            return
        by_fold = self._by_fold(self._zeta(values[torch.from_numpy(rows)]))
        folds, codes = fold_of_row[rows], codes[rows]
        unseen = by_fold[np.arange(len(rows)), folds]
        groups = merge_rare(np.bincount(codes, minlength=len(self.classes_)), self.alpha)
        self.calibrator_ = ClassCalibrator.fit(-unseen, codes, folds, groups)
        self.temperature_ = fit_temperature(unseen, codes)

    def _encode(self, X: Any, rows_before: int = 0) -> EncodedTable:
        check_is_fitted(self)
        table = new_table(self, X)
        table = table.drop_columns([name for name in self.ignore if name in table.column_names])
        encoded = self.encoder_.transform(table, on_error=self.on_error, rows_before=rows_before)
        for note in encoded.notes:
            warnings.warn(note, UserWarning, stacklevel=3)
        return encoded

    def _zeta(self, values: Tensor) -> FloatArray:
        """Zeta of every member, (n, members, classes)."""
        return self.cohort_.apply(values, lambda _, description: description.zeta.transpose(0, 1)).float().numpy()

    def _by_fold(self, zeta: FloatArray) -> FloatArray:
        """Average the members of each fold: (n, members, classes) -> (n, folds, classes)."""
        folds = np.unique(self.plan_folds_)
        return np.stack([zeta[:, self.plan_folds_ == fold].mean(axis=1) for fold in folds], axis=1)

    def _p_values(self, zeta: FloatArray) -> NDArray[np.float64]:
        if self.calibrator_ is None:
            raise ValueError(
                'this model is not calibrated and has no p-values: fit it with calibration="cross" or "split"'
            )
        # With fewer rows than folds, the last folds calibrate nothing.
        by_fold = self._by_fold(zeta)[:, : self.calibrator_.n_folds]
        return self.calibrator_.p_values(-by_fold.transpose(1, 0, 2))

    def _winners(self, zeta: FloatArray, p: NDArray[np.float64], alpha: float, control: str) -> NDArray[np.int64]:
        if self._settings().rule == "sign":
            return sign_rule(zeta)
        if control == "row":
            return decide(p, zeta, alpha)
        if control != "table":
            raise ValueError(f'control must be "row" or "table", got {control!r}')
        flagged = false_discovery(p, alpha)[1]
        return np.where(flagged, OOD, zeta.argmax(axis=1))

    def _warn_of_rare_classes(self) -> None:
        promises = self.promises()
        lonely = promises[promises["rows"] == 1]["class"].tolist()
        if lonely:
            warnings.warn(
                f"of class {quoted_list(lonely)} there is one row only: how its new rows look cannot be told",
                RareClassWarning,
                stacklevel=3,
            )
        if self.calibrator_ is None:
            return
        merged = promises[promises["calibrated_with"] != ""]["class"].tolist()
        if merged:
            warnings.warn(
                f"too few rows for a promise of their own at alpha {self.alpha:g}: classes {quoted_list(merged)} are "
                "calibrated together, and the promise holds for their rows taken together",
                RareClassWarning,
                stacklevel=3,
            )
        if (promises["smallest_alpha"] >= self.alpha).any():
            warnings.warn(
                f"too few rows to call anything OOD at alpha {self.alpha:g}: the smallest that can is just above "
                f"{promises['smallest_alpha'].max():.3g}",
                RareClassWarning,
                stacklevel=3,
            )

    # --- the model file ---

    def _document(self) -> dict[str, Any]:
        document = {
            "encoder": self.encoder_.state()[0],
            "explainer": self.explainer_.state(keep_examples=self.keep_examples)[0],
        }
        if self.calibrator_ is not None:
            document["calibrator"] = self.calibrator_.state()[0]
        return document

    def _tensors(self) -> Tensors:
        tensors: Tensors = {f"encoder.{name}": value for name, value in self.encoder_.state()[1].items()}
        tensors |= {f"network.{name}": value for name, value in self.cohort_.network.items()}
        tensors |= {f"head.{name}": value for name, value in self.cohort_.head.items()}
        if self.calibrator_ is not None:
            tensors |= {f"calibrator.{name}": value for name, value in self.calibrator_.state()[1].items()}
        explainer = self.explainer_.state(keep_examples=self.keep_examples)[1]
        tensors |= {f"explainer.{name}": value for name, value in explainer.items()}
        tensors["folds"] = self.plan_folds_
        tensors["temperature"] = np.array([self.temperature_])
        tensors["class_counts"] = self.class_counts_
        return tensors

    def _restore(self, tensors: Tensors, document: dict[str, Any]) -> None:
        settings = self._settings()
        self.encoder_ = TableEncoder.from_state(document["encoder"], part_of(tensors, "encoder."))
        self.cohort_ = Cohort.restore(
            part_of(tensors, "network."),
            part_of(tensors, "head."),
            n_features=self.encoder_.width,
            backbone=resolve_backbone(settings.backbone),
            head_factory=lambda dim: GaussianDescriptor(len(self.classes_), dim),
            loss=GDITDLoss(beta=settings.beta),
        )
        self.plan_folds_ = np.asarray(tensors["folds"])
        self.temperature_ = float(np.asarray(tensors["temperature"])[0])
        self.class_counts_ = np.asarray(tensors["class_counts"])
        if self.plan_folds_.shape != (self.cohort_.n_members,) or len(self.class_counts_) != len(self.classes_):
            raise ModelFileError("its folds or class counts do not fit its members and classes")
        self.explainer_ = Explainer.from_state(
            document["explainer"],
            part_of(tensors, "explainer."),
            encoder=self.encoder_,
            n_classes=len(self.classes_),
        )
        self.calibrator_ = None
        if "calibrator" in document:
            arrays = {name: value.numpy() for name, value in part_of(tensors, "calibrator.").items()}
            self.calibrator_ = ClassCalibrator.from_state(document["calibrator"], arrays)

    def _try_out(self) -> None:
        by_member = self._zeta(torch.zeros(2, self.encoder_.width))
        if self.calibrator_ is not None:
            self._p_values(by_member)


def quoted_list(values: list[Any]) -> str:
    """Up to five values for a message."""
    shown = ", ".join(repr(str(value)) for value in values[:5])
    return shown + (f" and {len(values) - 5} more" if len(values) > 5 else "")
