"""What a calibrated model promises for each class, as a table and as warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gditd.calibration import ClassCalibrator, smallest_alpha


class RareClassWarning(UserWarning):
    """A class has too few rows for the promise asked for."""


def promise_table(
    classes: NDArray[Any], counts: NDArray[np.int64], calibrator: ClassCalibrator | None, alpha: float
) -> pd.DataFrame:
    """Per class: its rows, the proven bound on its false alarms, the smallest alpha, who it is calibrated with.

    Nothing is promised (NaN) for a class of one row, which no row calibrates, and without a calibrator.
    """
    frame = pd.DataFrame({"class": classes, "rows": counts})
    if calibrator is None:
        return frame.assign(promise=np.nan, smallest_alpha=np.nan, calibrated_with="")
    groups = calibrator.groups
    partners = [
        ", ".join(str(other) for c, other in enumerate(classes) if groups[c] == groups[own] and c != own)
        for own in range(len(groups))
    ]
    return frame.assign(
        promise=np.where(counts > 1, calibrator.promise(alpha), np.nan),
        smallest_alpha=smallest_alpha(calibrator.counts),
        calibrated_with=partners,
    )


def warn_of_rare_classes(promises: pd.DataFrame, alpha: float) -> None:
    """Say which classes are too rare for what was asked, and what follows."""
    for message in rare_class_messages(promises, alpha):
        warnings.warn(message, RareClassWarning, stacklevel=3)


def rare_class_messages(promises: pd.DataFrame, alpha: float) -> list[str]:
    """One sentence for each thing that does not hold because a class is too rare."""
    messages = []
    lonely = promises[promises["rows"] == 1]["class"].tolist()
    if lonely:
        messages.append(f"of class {quoted_list(lonely)} there is one row only: how its new rows look cannot be told")
    merged = promises[promises["calibrated_with"] != ""]["class"].tolist()
    if merged:
        messages.append(
            f"too few rows for a promise of their own at alpha {alpha:g}: classes {quoted_list(merged)} are calibrated "
            "together, and the promise holds for their rows taken together"
        )
    if (promises["smallest_alpha"] >= alpha).any():
        messages.append(
            f"too few rows to call anything OOD at alpha {alpha:g}: the smallest that can is just above "
            f"{promises['smallest_alpha'].max():.3g}"
        )
    return messages


def quoted_list(values: list[Any]) -> str:
    """Up to five values for a message."""
    shown = ", ".join(repr(str(value)) for value in values[:5])
    return shown + (f" and {len(values) - 5} more" if len(values) > 5 else "")
