"""What a fitted classifier is and what it promises, as plain values for people and for JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gditd.classifier import GDITDClassifier


def summarise(model: GDITDClassifier) -> dict[str, Any]:
    """Describe a fitted classifier: settings, what is proven, classes and columns."""
    rule = model._settings().rule
    method = "none" if model.model_.calibrator is None else model.model_.calibrator.method
    return {
        "preset": model.preset,
        "alpha": float(model.alpha),
        "rule": rule,
        "calibration": method,
        "proven": proven(rule, method, model.alpha),
        "members": model.model_.cohort.n_members,
        "temperature": float(model.model_.temperature),
        "views": {"zeta": 1.0} if model.model_.fusion is None else model.model_.fusion.shares(),
        "forecast": described_forecast(model),
        "classes": [described_class(row) for row in model.promises().to_dict("records")],
        "columns": model.model_.encoder.schema_.describe(),
        "ignored": list(model.ignore),
    }


def proven(rule: str, method: str, alpha: float) -> str:
    """What holds for false alarms, in one sentence that says no more than is proven."""
    if rule == "sign":
        return "Nothing is proven: the sign rule calls a row OOD by the sign of its score and promises nothing."
    if method == "split":
        return (
            f"Proven (split calibration): of each class, or classes calibrated together, at most a share {alpha:g} of "
            "new rows is called OOD, on average over calibration draws, if new rows come as training rows did."
        )
    return (
        "Proven (cross calibration): of each class, or classes calibrated together, at most its promise, about twice "
        "alpha, more where rows are few, is called OOD, if new rows come as training rows did and the columns' ranges "
        f"and categories were known (they are learned from all rows); alpha itself ({alpha:g}) is not proven."
    )


def described_forecast(model: GDITDClassifier) -> dict[str, Any] | None:
    """What to expect of a class never seen; None where too few classes could be left out to tell."""
    forecast = model.model_.forecast
    if forecast is None:
        return None
    return {
        "auroc": forecast.auroc,
        "low": forecast.low,
        "high": forecast.high,
        "recall": forecast.recall,
        "alpha": forecast.alpha,
        "left_out": [
            {"class": plain_label(model.classes_[caught.class_number]), "auroc": caught.auroc, "recall": caught.recall}
            for caught in forecast.left_out
        ],
    }


def forecast_words(forecast: dict[str, Any] | None) -> str:
    """The forecast in one sentence."""
    if forecast is None:
        return (
            "No forecast of how well a class never seen would be caught: it takes three classes of a few dozen rows, "
            "to leave out one at a time."
        )
    # A range that holds chance level and nearly all says nothing: better to say so than to let it look like a figure.
    says_little = forecast["low"] <= 0.5 and forecast["high"] >= 0.95
    return (
        f"Forecast, from {len(forecast['left_out'])} known classes left out in turn: a class never seen would be "
        f"caught with AUROC about {forecast['auroc']:.1%} (range {forecast['low']:.1%} to {forecast['high']:.1%}), and "
        f"about {forecast['recall']:.0%} of its rows would be called OOD at alpha {forecast['alpha']:g}."
        + (" Such a range means that these classes say little about the next one." if says_little else "")
    )


def described_class(row: dict[str, Any]) -> dict[str, Any]:
    """One class; its promise is None where there is none."""
    return {
        "class": plain_label(row["class"]),
        "rows": int(row["rows"]),
        "promise": finite(row["promise"]),
        "smallest_alpha": finite(row["smallest_alpha"]),
        "calibrated_with": row["calibrated_with"],
    }


def plain_label(label: Any) -> Any:
    """A class label as a plain value."""
    return label.item() if isinstance(label, np.generic) else label


def finite(value: float) -> float | None:
    """The number, or None for NaN, which JSON does not have."""
    return None if math.isnan(value) else float(value)
