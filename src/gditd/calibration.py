"""Class-wise conformal p-values, and the verdicts that follow from them.

A detector gives every row one nonconformity score per known class, higher = stranger for that class. This
room compares a new row's score for class c with the scores of known rows of class c that the detector did
not learn from. It knows scores and labels only: no network, no table. A fused score of many views is one
score like any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import false_discovery_control

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

Rule = Literal["conformal", "sign"]

OOD = -1
"""What `decide` and `sign_rule` answer for a row that belongs to no known class."""


@dataclass(frozen=True, eq=False)
class ClassCalibrator:
    """Calibration scores of every class, and the p-values they give to new rows.

    With n_c calibration rows of class c, spread over K folds, a new row j gets

        p[j, c] = (1 + #{i of class c : s_i >= s_j}) / (n_c + 1),

    where s_i comes from the members that did not learn from row i, and s_j, when compared with s_i, from
    those same members. Ties count as at least as strange, nothing is random, and a class without
    calibration rows has p = 1.

    **split** (K = 1, one detector and rows held out from it). If the calibration rows of class c and a new
    row of class c are exchangeable, P(p_c <= alpha) <= alpha, on average over calibration draws (Vovk et al.
    2005, class-conditional conformal prediction).

    **cross** (K > 1, cross-conformal: Vovk 2015). No row is lost for learning, but P(p_c <= alpha) <= alpha
    is not proven. What is proven: for each fold f the rank r_f = 1 + #{i in fold f : s_i >= s_j} divided by
    n_cf + 1 is a split p-value, while the ranks depend on each other in unknown ways; `promise` bounds the
    worst of those ways. The bound is about 2 alpha for large classes and more for rare ones. It takes columns as
    known: where their ranges are learned from all rows, it can be exceeded.

    The textbook alternative, twice the average of the fold-wise p-values (Rüschendorf 1982, Vovk and Wang
    2020), is the same statistic with another threshold: weighted by n_cf + 1, the average is
    ((n_c + 1) p_c + K - 1) / (n_c + K). It never falls below K / (n_c + K), which is 0.2 for 20 rows and
    5 folds, so it rejects nothing at the usual alphas where classes are rare. Hence the pooled form, with a
    bound of its own.

    **groups.** A class with so few rows that nothing could be rejected at the alpha in use may share its
    calibration rows with others: the classes of one group are calibrated by all the group's rows, each with its
    score for its own class. The promise then holds for new rows that are the same mix of the group's classes as those
    which calibrate, not for each class in it.

    Both promises need every calibration row to be unknown to the members that score it: not in their
    training, nor in their stopping, nor in their tuning. A row is called OOD only when every class rejects
    it, its own class included, so the promise for class c also bounds the share of class c's new rows that
    are called OOD.
    """

    _scores: FloatArray  # of each calibration row for its own class: by fold, then by group, then ascending
    fold_counts: IntArray  # (K, groups) calibration rows of each fold and group
    groups: IntArray  # (k,) the group of each class; as many groups as classes if none are merged

    @classmethod
    def fit(
        cls,
        scores: npt.ArrayLike,
        y: npt.ArrayLike,
        folds: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> ClassCalibrator:
        """Keep the scores that calibrate.

        scores (n, k): of the calibration rows, each from members that did not learn from it. y (n,): true
        classes, 0 to k - 1. folds (n,): 0 to K - 1, the fold whose members gave the scores; None for split
        calibration. groups (k,): from 0, the classes that are calibrated together; None for each class alone.
        """
        s = _checked(scores, ndim=2)
        n, k = s.shape
        label = _codes(y, n, "y", below=k)
        fold = np.zeros(n, dtype=np.int64) if folds is None else _codes(folds, n, "folds")
        group_of_class = np.arange(k) if groups is None else _codes(groups, k, "groups")
        group = group_of_class[label]
        n_folds, n_groups = int(fold.max(initial=0)) + 1, int(group_of_class.max(initial=-1)) + 1
        counts = np.bincount(fold * n_groups + group, minlength=n_folds * n_groups).reshape(n_folds, n_groups)
        if n and not counts.any(axis=1).all():
            raise ValueError(f"fold {int(np.argmin(counts.any(axis=1)))} has no calibration row")
        own = s[np.arange(n), label]
        return cls(own[np.lexsort((own, group, fold))], counts.astype(np.int64), group_of_class)

    @property
    def n_folds(self) -> int:
        """K: 1 for split calibration."""
        return int(self.fold_counts.shape[0])

    @property
    def n_classes(self) -> int:
        """The number of known classes, k."""
        return len(self.groups)

    @property
    def counts(self) -> IntArray:
        """Calibration rows that each class is compared with, (k,): its own, or those of its whole group."""
        totals: IntArray = self.fold_counts.sum(axis=0)[self.groups]
        return totals

    @property
    def method(self) -> Literal["split", "cross"]:
        """Which promise is in force."""
        return "split" if self.n_folds == 1 else "cross"

    def p_values(self, scores: npt.ArrayLike) -> FloatArray:
        """P-values (m, k) of new rows.

        scores: (m, k) for split calibration; (K, m, k) for cross, entry f from the members of fold f.
        """
        s = _checked(scores, ndim=2 if self.method == "split" and np.ndim(scores) == 2 else 3)
        s = s[None] if s.ndim == 2 else s
        if (s.shape[0], s.shape[2]) != (self.n_folds, self.n_classes):
            raise ValueError(
                f"scores of {s.shape[0]} folds and {s.shape[2]} classes given, "
                f"calibrated with {self.n_folds} folds and {self.n_classes} classes"
            )
        at_least = np.zeros(s.shape[1:], dtype=np.int64)
        ends = np.cumsum(self.fold_counts).reshape(self.fold_counts.shape)
        for f, c in np.ndindex(self.n_folds, self.n_classes):
            g = self.groups[c]
            count = self.fold_counts[f, g]
            known = self._scores[ends[f, g] - count : ends[f, g]]
            # side="left" leaves out strictly smaller scores only, so ties count as at least as strange.
            at_least[:, c] += count - np.searchsorted(known, s[f, :, c], side="left")
        p: FloatArray = (1 + at_least) / (1 + self.counts)
        return p

    def promise(self, alpha: float) -> FloatArray:
        """The proven bound, per class (k,), on the chance that a new row of the class gets p <= alpha.

        It is alpha for split calibration. For cross calibration, with T the largest sum of ranks that gives
        p <= alpha, it is the smaller of two bounds on P(r_1 + ... + r_K <= T) that hold however the ranks
        depend on each other:

        - each single rank must be small: P <= (T - K + 1) / (n_cf + 1), for the largest fold;
        - for any integers j_f with sum J > T, sum (j_f - r_f)_+ >= J - T on that event, so Markov's
          inequality gives P <= sum_f [j_f (j_f - 1) / (2 (n_cf + 1))] / (J - T).

        The second is the argument behind "twice the average p-value", kept discrete and minimised over j_f.
        It needs no equal folds. For rare classes it is far below the closed form that CV+ has in common with
        it (Vovk et al. 2018, Barber et al. 2021), 2 alpha + 2 (1 - alpha) (K - 1) / (n_c + K); for large
        classes they meet. The other term of CV+, (1 - K/n) / (K + 1), asks for folds of equal size and is
        not used. K counts the folds that hold rows of the class, and the result is never below alpha.
        """
        check_alpha(alpha)
        bounds = [_worst_case(column[column > 0], alpha) for column in self.fold_counts.T]
        return np.maximum(alpha, np.array(bounds, dtype=np.float64))[self.groups]

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """What `from_state` needs: a JSON-able dict and named arrays."""
        meta = {"n_folds": self.n_folds, "n_classes": self.n_classes}
        return meta, {"scores": self._scores, "fold_counts": self.fold_counts, "groups": self.groups}

    @classmethod
    def from_state(cls, meta: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> ClassCalibrator:
        """The calibrator whose `state` this is; it gives the same p-values to the last bit."""
        scores = np.asarray(arrays["scores"], dtype=np.float64)
        counts = np.asarray(arrays["fold_counts"], dtype=np.int64)
        groups = np.asarray(arrays["groups"], dtype=np.int64)
        n_groups = int(groups.max(initial=-1)) + 1
        fits = counts.shape == (meta["n_folds"], n_groups) and groups.shape == (meta["n_classes"],)
        sane = fits and (counts >= 0).all() and (groups >= 0).all() and scores.shape == (counts.sum(),)
        if not sane:
            raise ValueError("the calibration state contradicts itself: its counts do not fit its scores")
        return cls(scores, counts, groups)


def smallest_alpha(counts: npt.ArrayLike) -> FloatArray:
    """Per class, the smallest p-value that n_c calibration rows can give: 1 / (n_c + 1).

    A class can reject rows at every alpha above this figure and at none up to it, as rejecting is p < alpha.
    """
    smallest: FloatArray = 1.0 / (np.asarray(counts, dtype=np.float64) + 1.0)
    return smallest


def too_few(counts: npt.ArrayLike, alpha: float) -> BoolArray:
    """Which classes have too few calibration rows to reject anything at alpha, (n_c + 1) alpha <= 1.

    The promise leaves no choice: such a class, and always one without rows, has p >= alpha for any row
    whatsoever. As OOD means rejected by every class, one such class makes every OOD verdict impossible.
    """
    check_alpha(alpha)
    return smallest_alpha(counts) >= alpha


def merge_rare(counts: npt.ArrayLike, alpha: float) -> IntArray:
    """Group the classes (k,) so that every group has enough calibration rows to reject rows at alpha.

    Classes with enough rows stay alone. The others form one group, joined by the next larger classes until its
    rows suffice. Groups are numbered from 0 in the order of their first class.
    """
    n = np.asarray(counts, dtype=np.int64)
    merged = too_few(n, alpha)
    if merged.any():
        for c in np.argsort(n, kind="stable"):
            if not too_few([n[merged].sum()], alpha)[0]:
                break
            merged[c] = True
    group = np.arange(len(n))
    group[merged] = np.flatnonzero(merged)[0] if merged.any() else 0
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def decide(p_values: npt.ArrayLike, class_scores: npt.ArrayLike, alpha: float) -> IntArray:
    """Verdict per row (m,): OOD if every p < alpha, else the best class among those with p >= alpha.

    p_values, class_scores: (m, k); class_scores are higher = more that class, and the first class wins ties.
    """
    check_alpha(alpha)
    p, score = _checked(p_values, ndim=2), _checked(class_scores, ndim=2)
    if p.shape != score.shape:
        raise ValueError(f"p-values of shape {p.shape} do not fit class scores of shape {score.shape}")
    possible = p >= alpha
    # A possible class whose score is -inf must still beat the impossible ones.
    best = np.where(possible, np.maximum(score, np.finfo(np.float64).min), -np.inf).argmax(axis=1)
    return np.where(possible.any(axis=1), best, OOD)


def sign_rule(zeta: npt.ArrayLike) -> IntArray:
    """The paper's verdict per row (m,): OOD if every zeta (m, k) is negative, else the class of the largest.

    It promises nothing about false alarms.
    """
    z = _checked(zeta, ndim=2)
    return np.where((z < 0).all(axis=1), OOD, z.argmax(axis=1))


def false_discovery(
    p_values: npt.ArrayLike, alpha: float, method: Literal["bh", "by"] = "bh"
) -> tuple[FloatArray, BoolArray]:
    """Adjusted p-value and OOD flag per row (m,) of one whole table of p_values (m, k).

    A row's p-value against "it belongs to some known class" is max_c p[j, c]: not smaller than that of its
    own class, hence conservative. Flagged is adjusted p <= alpha. Of the flagged rows, at most a share alpha
    in expectation are known ones, if the p-values are from split calibration and

    - "bh" (Benjamini-Hochberg): all rows, calibration and new, are drawn independently. P-values that share
      a calibration set are positively dependent (PRDS: Bates et al. 2023), and the maximum over classes
      keeps this: for a row of class c, the larger its p_c, the larger the calibration scores of class c and
      so the others' p-values;
    - "by" (Benjamini-Yekutieli): rows are exchangeable within each class, whatever else ties them together;
      it flags fewer rows.

    Nothing is proven for cross calibration, whose p-values keep only the bound of `ClassCalibrator.promise`.
    The adjusted p-value cannot be below max_c 1 / (n_c + 1), whatever the table.
    """
    check_alpha(alpha)
    p = _checked(p_values, ndim=2)
    if p.shape[0] == 0:
        return np.empty(0), np.empty(0, dtype=np.bool_)
    adjusted: FloatArray = np.asarray(false_discovery_control(p.max(axis=1), method=method), dtype=np.float64)
    return adjusted, adjusted <= alpha


def _worst_case(fold_sizes: IntArray, alpha: float) -> float:
    """The cross bound for one class with these non-empty folds; see `ClassCalibrator.promise`."""
    n = int(fold_sizes.sum())
    # Rounding must not make the bound optimistic: a count on the border is within. Beyond n, p is 1.
    rank = min(n, int(np.floor(alpha * (n + 1) + 1e-9)))
    if rank < 1:
        return 0.0
    outcomes = fold_sizes + 1  # the ranks that each fold can give
    largest = int(outcomes.max())
    # j_f proportional to the fold's outcomes is best. Any j_f is valid: a coarse grid only loses tightness.
    share = np.unique(np.geomspace(1, largest, 1000).round()) / largest
    j = np.floor(np.outer(share, outcomes)) + 1
    spare = j.sum(axis=1) - (rank - 1 + fold_sizes.size)
    markov = (j * (j - 1) / (2 * outcomes)).sum(axis=1)[spare > 0] / spare[spare > 0]
    return float(min(1.0, rank / largest, markov.min()))


def _checked(values: npt.ArrayLike, ndim: int) -> FloatArray:
    """The values as floats, (..., rows, classes), none of them NaN."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != ndim:
        raise ValueError(f"expected an array of {ndim} dimensions, got shape {array.shape}")
    bad = np.isnan(array).any(axis=-1)
    if bad.any():
        raise ValueError(f"row {int(np.nonzero(bad)[-1].min())} has a NaN score")
    return array


def _codes(values: npt.ArrayLike, n: int, name: str, below: int | None = None) -> IntArray:
    """The values as n integers from 0, all smaller than `below`."""
    codes = np.asarray(values)
    if codes.shape != (n,) or not (n == 0 or np.issubdtype(codes.dtype, np.integer)):
        raise ValueError(f"{name} must be {n} integers, one per row, got {codes.dtype} of shape {codes.shape}")
    wrong = (codes < 0) if below is None else (codes < 0) | (codes >= below)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"{name} of row {row} is {codes[row]}, out of range")
    return codes.astype(np.int64)


def check_alpha(alpha: object) -> None:
    """Refuse what is no share."""
    if not isinstance(alpha, Real) or not 0.0 < float(alpha) < 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}")
