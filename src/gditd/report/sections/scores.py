"""How strange the rows of each class look: OOD scores with the limits, and p-values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gditd.embedding_map import class_limits
from gditd.report.charts import Strip, figure, side_by_side, strips
from gditd.report.charts.axis import Scale, TailScale
from gditd.report.charts.strips import ACROSS
from gditd.report.charts.style import colour
from gditd.report.material import Material, Part
from gditd.report.page import paragraph

FAR = 20  # times as far out as the most generous limit is as far as it is drawn


def scores(material: Material) -> Part:
    """Histograms by class."""
    charts = [score_strips(material)]
    if material.calibrated:
        charts.append(p_value_strips(material))
    said = f"{score_words(material)} {verdict_words(material)}"
    return Part("scores", "OOD scores by class", paragraph(said) + side_by_side(charts))


def score_words(material: Material) -> str:
    """What the OOD score is."""
    views = material.model.summary()["views"]
    made = "is minus the largest zeta" if list(views) == ["zeta"] else "weighs how strange several views find a row"
    return f"The OOD score {made}: the higher, the stranger."


def verdict_words(material: Material) -> str:
    """When a row is called OOD."""
    if not material.calibrated:
        return "By the sign rule a row is called OOD if its score is above zero, the dashed line."
    said = "A row is called OOD if its p-value is below alpha for every class"
    if limits_in_scores(material):
        return f"{said}; for a class that means a score beyond its dashed line."
    return (
        f"{said}. P-values come from rows held out of training, the score knows those too: sort by the score, "
        "and take alarms from p-values."
    )


def limits_in_scores(material: Material) -> bool:
    """Whether classes reject rows from some score on."""
    return material.model.model_.ranks_as_calibrated


def score_strips(material: Material) -> str:
    """OOD scores, each class with its limit."""
    limits = -class_limits(material.model, material.alpha)
    values = material.scored.ood_score.astype(np.float64)
    scale = score_scale(values, limits, ~material.is_unseen)
    drawn = limits_in_scores(material)
    items = class_strips(material, values, limits.tolist() if drawn else [None] * len(limits))
    drawing = strips(items, scale, title="OOD scores by class", axis="OOD score (logarithmic to the right)")
    caption = "OOD scores of the rows of each true class, each as high as its fullest bar"
    caption += "; dashed: where the class starts to reject." if drawn else "."
    caption += " The last bar counts all rows beyond." if values.max() > scale.high else ""
    return figure("OOD scores", drawing, caption + material.left_out_of_charts())


def p_value_strips(material: Material) -> str:
    """P-values of the best class, with alpha."""
    limits = [material.alpha] * len(material.names)
    items = class_strips(material, material.scored.p_value, limits)
    drawing = strips(items, Scale(0.0, 1.0, *ACROSS), title="P-values by class", axis="p-value of the best class")
    caption = (
        "P-values, drawn in the same way; dashed: alpha, below which a row is called OOD. Rows that come as training "
        "rows did spread evenly or lean to the right; rows of no known class pile up at the left."
    )
    return figure("P-values", drawing, caption + material.left_out_of_charts())


def class_strips(material: Material, values: NDArray[np.floating], limits: Sequence[float | None]) -> list[Strip]:
    """A strip for each class that has rows, and one for rows of unseen classes."""
    found = []
    for c in material.charted_classes():
        own = material.scored.classes == c
        if own.any():
            found.append(Strip(material.names[c], values[own], colour(c), called(material, own), limits[c]))
    if material.is_unseen.any():
        unseen = material.is_unseen
        found.append(Strip("unseen classes", values[unseen], "var(--ood)", called(material, unseen)))
    return found


def called(material: Material, own: NDArray[np.bool_]) -> str:
    """How many of some rows are called OOD."""
    return f"{np.count_nonzero(material.scored.flagged[own]):,} of {np.count_nonzero(own):,} called OOD"


def score_scale(values: NDArray[np.float64], limits: NDArray[np.float64], known: NDArray[np.bool_]) -> TailScale:
    """A scale on which the known rows take up room, whatever absurd rows there are."""
    low = float(min(values.min(), limits.min()))
    usual = float(np.median(values[known] if known.any() else values)) - low
    limit = float(limits.max())
    high = min(float(max(values.max(), limit)), limit + FAR * max(limit - low, usual))
    return TailScale(low, high, *ACROSS, middle=low, unit=max(usual, 1e-6 * (high - low), 1e-12))
