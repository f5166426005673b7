"""Whether methods differ by more than chance, over cells: Wilcoxon with Holm, Friedman and Nemenyi.

The paper compares its method with the second-best scores by Wilcoxon's signed-rank test over its 21 cells (data set and
MDSR). Its p-values are those of the exact two-sided test on the means of Table 3, where the second-best score is the
best one of the other methods in each cell: 2 / 2^21 = 9.5e-7 for TNR and AUROC, where all 21 differences are positive.
For AUPR the printed figures give 10 / 2^21 = 4.8e-6. The paper prints 4.5e-6, which no exact test of 21 pairs can give:
its p-values are multiples of 2 / 2^21.

Cells of one data set share most of their rows: they are not independent, as the tests suppose, so the p-values claim
more than they should.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, rankdata, studentized_range

ALPHA = 0.05
BEST_OTHER = "best other method"
FEWEST_PAIRS = 6  # the exact two-sided test of five pairs cannot fall below 0.0625
FEWEST_CELLS = 2

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """The reference against one rival: over so many cells, won, lost, median difference, p-value (NaN: no test)."""

    rival: str
    cells: int
    won: int
    lost: int
    median_difference: float
    p_value: float


@dataclass(frozen=True)
class Ranks:
    """Mean ranks (1 = best) over the cells that all these methods share, or the reason why there are none."""

    mean_ranks: dict[str, float]
    cells: int
    friedman_p: float = math.nan
    critical_difference: float = math.nan
    left_out: tuple[str, ...] = ()
    reason: str = ""


def signed_rank_p(differences: Sequence[float] | FloatArray) -> float:
    """Wilcoxon's exact two-sided p-value; zeros are dropped, ties share a rank; NaN without any difference."""
    # Rounded, for differences that are equal on paper must tie in floating point too.
    given = np.round(np.asarray(differences, dtype=np.float64), 9)
    given = given[given != 0]
    if not len(given):
        return math.nan
    doubled = np.rint(2 * rankdata(np.abs(given))).astype(int)  # shared ranks are halves
    positive = int(doubled[given > 0].sum())
    chances = np.zeros(doubled.sum() + 1)
    chances[0] = 1.0
    for rank in doubled:  # each rank is positive or negative with the same chance
        moved = np.concatenate([np.zeros(rank), chances[:-rank]])
        chances = (chances + moved) / 2
    smaller = min(positive, int(doubled.sum()) - positive)
    return min(1.0, 2 * float(chances[: smaller + 1].sum()))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's corrected p-values; what was not tested (NaN) stays so and does not count as a comparison."""
    tested = sorted((p, place) for place, p in enumerate(p_values) if not math.isnan(p))
    corrected = [math.nan] * len(p_values)
    largest = 0.0
    for done, (p, place) in enumerate(tested):
        largest = max(largest, min(1.0, (len(tested) - done) * p))
        corrected[place] = largest
    return corrected


def against_each(cells: pd.DataFrame, reference: str) -> list[Comparison]:
    """The reference against every other column of a matrix of cells."""
    rivals = [method for method in cells if method != reference]
    return [_compare(cells, reference, cells[rival], rival) for rival in rivals]


def against_best_other(cells: pd.DataFrame, reference: str) -> Comparison:
    """The reference against the best of the others in each cell, as the paper does."""
    return _compare(cells, reference, cells.drop(columns=reference, errors="ignore").max(axis=1), BEST_OTHER)


def rank(cells: pd.DataFrame, alpha: float = ALPHA) -> Ranks:
    """Rank the methods in every cell, ties averaged, and say whether and by how much mean ranks differ.

    Methods that have fewer than half the cells are left out, or there would be few cells that all share.
    """
    counts = cells.notna().sum()
    kept = [method for method in cells if counts[method] > 0 and 2 * counts[method] >= counts.max()]
    left_out = tuple(str(method) for method in cells if method not in kept)
    shared = cells[kept].dropna()
    if len(kept) < 2:
        return Ranks({}, len(shared), left_out=left_out, reason="fewer than two methods have figures")
    if len(shared) < FEWEST_CELLS:
        reason = f"the methods share fewer than {FEWEST_CELLS} cells"
        return Ranks({}, len(shared), left_out=left_out, reason=reason)
    ranks = rankdata(-shared.round(9).to_numpy(), axis=1)
    means = dict(zip(kept, ranks.mean(axis=0).tolist(), strict=True))
    distance = critical_difference(len(kept), len(shared), alpha)
    return Ranks(means, len(shared), _friedman_p(shared), distance, left_out)


def critical_difference(methods: int, cells: int, alpha: float = ALPHA) -> float:
    """Nemenyi: mean ranks that differ by at least this much differ significantly (Demšar 2006)."""
    q = studentized_range.ppf(1 - alpha, methods, np.inf) / math.sqrt(2)
    return float(q * math.sqrt(methods * (methods + 1) / (6 * cells)))


def _compare(cells: pd.DataFrame, reference: str, rival: pd.Series, name: str) -> Comparison:
    if reference not in cells:
        return Comparison(name, 0, 0, 0, math.nan, math.nan)
    apart = (cells[reference] - rival).dropna().round(9)
    median = float(apart.median()) if len(apart) else math.nan
    return Comparison(name, len(apart), int((apart > 0).sum()), int((apart < 0).sum()), median, signed_rank_p(apart))


def _friedman_p(shared: pd.DataFrame) -> float:
    values = shared.round(9).to_numpy()
    if values.shape[1] < 3 or (values == values[:, :1]).all():  # scipy wants three, and divides by the spread of ranks
        return math.nan
    return float(friedmanchisquare(*values.T).pvalue)
