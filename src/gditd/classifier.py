"""GDITDClassifier: raw tables in, calibrated verdicts out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from gditd.calibration import Rule
from gditd.checkpoint import CheckpointFile
from gditd.detectors.base import Detector, FloatArray
from gditd.detectors.network import resolve_device
from gditd.explain import Explanation
from gditd.fitted import FittedModel
from gditd.fitting import fit_model
from gditd.inputs import new_rows, new_table, training_table
from gditd.judging import Control, Judgement, judge
from gditd.labels import encode_labels
from gditd.model_file import ModelFileError, Tensors
from gditd.nn.losses import Beta
from gditd.plan import Calibration
from gditd.presets import Settings, Views, chosen_settings, refuse_unfit
from gditd.promises import promise_table, warn_of_rare_classes
from gditd.streaming import ParquetSource, Sample, Tell, as_class_labels, draw_sample
from gditd.summary import summarise
from gditd.tables import EncodedTable, to_arrow
from gditd.tables.numbers import Numbers
from gditd.training import leads
from gditd.training.cohort import Backbone
from gditd.training.descent import ProgressCallback


class GDITDClassifier(Detector):
    """Classify rows of a table, or say that they belong to no known class, with a promise on false alarms.

    Takes numpy arrays, pandas, polars and Arrow tables with numbers, categories, booleans, dates and missing values.

    Parameters
    ----------
    preset : "default", "fast" (one member, quicker to fit and score) or "paper" (the paper, to the letter).
    alpha : the share of each known class's own new rows that may be called OOD.
    rule : "conformal" (class-wise p-values) or "sign" (the paper's rule, which promises nothing).
    calibration : where the p-values come from. "split": up to three in ten rows of a class are kept out of training; at
        most alpha is proven. "cross": each member stays out of one fold, and no row is lost; what is proven is about
        2 alpha, were the columns' ranges known, and fewer OOD rows are caught. "none": no p-values.
    views : what a row is judged by. "all": networks, distances and forests, with weights learned from classes left out;
        "few": those that count most, within a few microseconds a row; "zeta": the paper's score alone. Without split
        calibration, and by the sign rule, it is always zeta.
    numbers : how number columns are encoded: "zscore", "quantile" or "piecewise". Unless it is chosen, the networks of
        preset "default" see normal scores and everything else z-scores.
    ignore : names of columns to leave out.
    on_error : "raise", or "ood" to call a row that cannot be read OOD and say why.
    keep_examples : let :meth:`save` write some training rows too, for a loaded model to show the most similar one.
    backbone : "mlp" (three layers of 128), "mlp-64" (of 64), "mlp-slim" (of 64, the later two of 32 with up to 256
        features), "residual", or a callable n_features -> nn.Module whose output is the embedding.
    n_members, max_epochs, batch_size, learning_rate : of training.
    validation_fraction : share of each member's rows set aside for early stopping; 0 trains for all epochs.
    beta : "paper", "effective" or a number, see :class:`gditd.nn.GDITDLoss`.
    rare_per_batch : repeat rows of rare classes until a batch holds about this many of each class.
    device : "auto" (a GPU if there is one), "cpu", "cuda", ...
    progress : called with a :class:`gditd.training.Progress` after each epoch.
    random_state : int, RandomState or None; the same int gives the same bits on a CPU.

    None stands for what the preset has.
    """

    model_: FittedModel
    class_counts_: NDArray[np.int64]
    class_totals_: NDArray[np.int64]

    def __init__(
        self,
        *,
        preset: str = "default",
        alpha: float = 0.05,
        rule: Rule | None = None,
        calibration: Calibration | None = None,
        views: Views | None = None,
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
        self.views = views
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

    def fit(self, X: Any, y: Any, ood: Any = None, *, checkpoint: str | Path | None = None) -> Self:
        """Learn from a table and the class of each row.

        `ood` may be a table with the same columns: a few rows that are known to be of no class. They sharpen what
        catches rows like them, if half of them help to catch the other half; otherwise a warning says that the model
        is the same as without them. The promise on known classes stays as it is.

        `checkpoint` names a file that is written every few seconds of training and is gone at the end. If it is there
        already, left by a fit that was stopped, training goes on from it, to the same bits as if it had never been
        stopped.
        """
        settings = self._settings()
        refuse_unfit(alpha=self.alpha, on_error=self.on_error, ignore=self.ignore)
        kept = None if checkpoint is None else self._checkpoint(checkpoint)
        probe = clone(self)
        classes, codes = encode_labels(y)
        table = training_table(probe, X)
        if "OOD" in classes.tolist():
            raise ValueError('a class cannot be named "OOD", the verdict on rows of no known class: rename it')
        if table.num_rows != len(codes):
            raise ValueError(f"the table has {table.num_rows} rows and there are {len(codes)} labels: give one each")
        model = fit_model(
            table,
            codes,
            ood=None if ood is None else self._ood_table(probe, ood, settings),
            n_classes=len(classes),
            settings=settings,
            alpha=self.alpha,
            ignore=self.ignore,
            rng=check_random_state(self.random_state),
            device=resolve_device(self.device),
            progress=self.progress,
            checkpoint=kept,
        )
        # Only now: an interrupted or failed fit leaves the estimator as it was.
        self.classes_, self.class_counts_, self.model_ = classes, np.bincount(codes), model
        self.class_totals_ = self.class_counts_
        self._remember_columns(probe)
        warn_of_rare_classes(self.promises(), self.alpha)
        if kept is not None and leads():
            kept.remove()
        return self

    def fit_parquet(
        self,
        path: str | Path,
        target: str,
        *,
        ood: Any = None,
        stream: bool | None = None,
        max_rows: int | None = None,
        tell: Tell | None = None,
        checkpoint: str | Path | None = None,
    ) -> Self:
        """Learn from a Parquet file, or a folder of them, that may be larger than memory; `target` is the label column.

        A table that fits memory well is read whole and learned from as :meth:`fit` does. A larger one, or any with
        stream=True, is read twice, a few rows at a time: every value is checked, and the model learns from a random
        sample of each class, rare classes whole, as large as what training visits (at most `max_rows`).
        `class_totals_` then has the rows of each class in the table, `class_counts_` those drawn. `tell` is called
        with what is being done, the rows done and all rows. `checkpoint` is as in :meth:`fit`.
        """
        source = ParquetSource(path, ignore=self.ignore)
        if source.is_large if stream is None else stream:
            return self._fit_sample(self._draw(source, target, max_rows=max_rows, tell=tell), ood, checkpoint)
        table = source.read()
        if target not in table.column_names:
            raise ValueError(f'there is no column "{target}" to take as target: there are {table.column_names[:20]}')
        return self.fit(
            table.drop_columns([target]), as_class_labels(table.column(target), target), ood, checkpoint=checkpoint
        )

    def class_scores(self, X: Any) -> FloatArray:
        """Scores (n, classes), higher = more that class.

        Where views are fused: minus how strange the row is, and less for a class the less likely it is. Otherwise zeta,
        averaged over members; positive means inside that class's sphere. The largest is minus the OOD score.
        """
        encoded = self._encode(X)
        return self.model_.class_scores(encoded.values)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return a probability per known class (n, classes), calibrated on rows the members did not see."""
        encoded = self._encode(X)
        probabilities: FloatArray = np.exp(self.model_.log_probabilities(encoded.values))
        return probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most likely known class of each row."""
        encoded = self._encode(X)
        labels: NDArray[Any] = self.classes_[self.model_.log_probabilities(encoded.values).argmax(axis=1)]
        return labels

    def ood_score(self, X: Any) -> FloatArray:
        """Return how strange each row is, (n,): higher = more likely of no known class.

        To rank rows by. Where views are fused it knows every training row, also those that calibrate p-values.
        """
        return self.model_.ood_scores(self._encode(X).values)

    def p_values(self, X: Any) -> FloatArray:
        """Class-wise conformal p-values (n, classes); small means strange for that class."""
        encoded = self._encode(X)
        p = self.model_.p_values(self.model_.scored(encoded.values).by_fold)
        p[list(encoded.row_errors)] = 0.0
        return p

    def verdict(
        self,
        X: Any,
        alpha: float | None = None,
        *,
        control: Control = "row",
        rows_before: int = 0,
    ) -> pd.DataFrame:
        """Give each row a verdict: a known class, or "OOD".

        Columns: verdict, known_class (the most likely one in any case), p_value (of the best class; small means OOD),
        ood_score; with on_error="ood" also error. control="table" bounds, with split calibration, the expected share of
        false alarms among all alarms of this table by alpha (Benjamini-Hochberg) instead of the false-alarm rate per
        class. The sign rule asks for no alpha.
        `rows_before` is how many rows of the same file came before X, so that messages count as the file does.
        """
        encoded = self._encode(X, rows_before)
        judged = self._judge(encoded, alpha, control)
        frame = pd.DataFrame(
            {
                "verdict": np.append(self.classes_.astype(object), "OOD")[judged.winners],  # OOD is -1, the last
                "known_class": self.classes_[judged.known_class],
                "p_value": judged.p_value,
                "ood_score": judged.ood_score,
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
        judged = self._judge(encoded)
        return self.model_.explainer.explain(
            table,
            encoded,
            classes=self.classes_,
            likeliest=judged.known_class,
            ood_scores=judged.ood_score,
            zeta=lambda values: torch.from_numpy(self.model_.mean_zeta(values)),
            n_columns=int(n_columns),
        )

    # --- what is promised ---

    def promises(self, alpha: float | None = None) -> pd.DataFrame:
        """What holds for each class at alpha: its rows, the proven bound on its false alarms, the smallest alpha.

        `calibrated_with` lists the classes that share their calibration rows with it: the bound then holds for their
        rows together. Nothing is promised (NaN) for a class of one row, which none of them calibrates, and by the sign
        rule.
        """
        check_is_fitted(self)
        alpha = self.alpha if alpha is None else alpha
        calibrator = self.model_.calibrator if self._settings().rule == "conformal" else None
        return promise_table(self.classes_, self.class_totals_, calibrator, alpha)

    def summary(self) -> dict[str, Any]:
        """Describe the model in plain values, for JSON: settings, what is proven, classes with promises, columns."""
        check_is_fitted(self)
        rows = {"rows": int(self.class_totals_.sum()), "rows_learned_from": int(self.class_counts_.sum())}
        return summarise(self) | rows

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
            views=self.views,
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

    def _draw(
        self, source: ParquetSource, target: str, *, max_rows: int | None = None, tell: Tell | None = None
    ) -> Sample:
        """The rows of a large table that training with these settings would visit."""
        if max_rows is not None and max_rows < 2:
            raise ValueError(f"max_rows must be at least 2, got {max_rows!r}")
        settings = self._settings()
        refuse_unfit(alpha=self.alpha, on_error=self.on_error, ignore=self.ignore)
        state = self.random_state
        seed = state if isinstance(state, int | np.integer) else check_random_state(state).randint(2**31 - 1)
        return draw_sample(
            source, target, settings=settings, alpha=self.alpha, seed=int(seed), max_rows=max_rows, tell=tell
        )

    def _checkpoint(self, path: str | Path) -> CheckpointFile:
        if not isinstance(self.random_state, int | np.integer):
            raise ValueError("checkpoint needs a whole number as random_state: another draw could not go on from it")
        return CheckpointFile(Path(path))

    def _fit_sample(self, sample: Sample, ood: Any = None, checkpoint: str | Path | None = None) -> Self:
        self.fit(sample.table, sample.labels, ood, checkpoint=checkpoint)
        _, codes = encode_labels(sample.labels)
        self.class_totals_ = sample.totals(codes, len(self.classes_))
        for note in sample.survey.notes(self.model_.encoder.schema_):
            warnings.warn(note, UserWarning, stacklevel=3)
        return self

    def _ood_table(self, probe: Self, ood: Any, settings: Settings) -> pa.Table:
        if not settings.fused:
            raise ValueError('ood needs views="few" or "all" with calibration="split" and rule="conformal"')
        return self._without_ignored(new_table(probe, ood))

    def _without_ignored(self, table: pa.Table) -> pa.Table:
        return table.drop_columns([name for name in self.ignore if name in table.column_names])

    def _encode(self, X: Any, rows_before: int = 0) -> EncodedTable:
        check_is_fitted(self)
        rows = new_rows(self, X)
        table = self._without_ignored(to_arrow(rows)) if self.ignore else rows
        encoded = self.model_.encoder.transform(table, on_error=self.on_error, rows_before=rows_before)
        for note in encoded.notes:
            warnings.warn(note, UserWarning, stacklevel=3)
        return encoded

    def _judge(self, encoded: EncodedTable, alpha: float | None = None, control: Control = "row") -> Judgement:
        return judge(
            self.model_,
            encoded,
            rule=self._settings().rule,
            alpha=self.alpha if alpha is None else alpha,
            control=control,
        )

    # --- the model file ---

    def _document(self) -> dict[str, Any]:
        return self.model_.document(keep_examples=self.keep_examples)

    def _tensors(self) -> Tensors:
        counts = self.class_counts_
        if not np.array_equal(self.class_totals_, counts):  # drawn from a larger table
            counts = np.stack([counts, self.class_totals_])
        return self.model_.tensors(keep_examples=self.keep_examples) | {"class_counts": counts}

    def _restore(self, tensors: Tensors, document: dict[str, Any]) -> None:
        refuse_unfit(alpha=self.alpha, on_error=self.on_error, ignore=self.ignore)
        counts = np.atleast_2d(np.asarray(tensors["class_counts"]))
        self.class_counts_, self.class_totals_ = counts[0], counts[-1]
        if counts.shape not in ((1, len(self.classes_)), (2, len(self.classes_))) or "OOD" in self.classes_.tolist():
            raise ModelFileError("its class counts do not fit its classes")
        self.model_ = FittedModel.restore(tensors, document, n_classes=len(self.classes_), settings=self._settings())
        if self._settings().rule == "conformal" and self.model_.calibrator is None:
            raise ModelFileError("its calibration is missing")

    def _try_out(self) -> None:
        # Compiled loops do not check how many columns a row has.
        widths = [] if self.model_.fusion is None else self.model_.fusion.widths
        if any(width != self.model_.encoder.width for width in widths):
            raise ModelFileError("a forest in it does not fit its columns")
        self.model_.try_out()
        self.summary()
