"""`synthesize`: the release of a table and the figures on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from gditd.synthesis.columns import refuse_identifiers
from gditd.synthesis.mixing import NEIGHBOURS
from gditd.synthesis.release import Progress, release_rows
from gditd.synthesis.report import SynthesisReport, measure_privacy, measure_utility
from gditd.tables import TableError, to_arrow
from gditd.tables.errors import quoted


@dataclass(frozen=True)
class Synthetic:
    """A released table.

    table : mixtures of the real rows, in the real table's columns and types.
    notes : what is not released, in sentences.
    report : figures on privacy and utility; None where they were not asked for.
    """

    table: pa.Table
    notes: tuple[str, ...]
    report: SynthesisReport | None


def synthesize(
    table: Any,
    target: str,
    *,
    rows: int | None = None,
    neighbours: int = NEIGHBOURS,
    seed: int = 0,
    ignore: Sequence[str] = (),
    check: bool = True,
    progress: Progress = lambda done, total: None,
) -> Synthetic:
    """Make a table that can be shown to others: every row mixes three near rows of a class, and none is a real row.

    Parameters
    ----------
    table : pandas, polars, Arrow or any other frame.
    target : the column that holds each row's class.
    rows : how many to release in all, classes in their proportions; by default as many as there are.
    neighbours : how many of a row's nearest neighbours its two partners are drawn from, at least 2.
    seed : the same seed releases the same rows.
    ignore : columns to leave out of the release, such as names and numbers of persons.
    check : whether to measure privacy and utility.
    progress : called with the rows done and the rows in all.

    Raises
    ------
    TableError
        If a column points to single rows or holds what cannot be mixed, or every mixture equals a real row.
    """
    if neighbours < 2:
        raise ValueError(f"neighbours must be at least 2, not {neighbours}: a row is mixed with two of them")
    real = _without(to_arrow(table), target, ignore)
    release = release_rows(
        real, target, np.random.default_rng(seed), rows=rows, neighbours=neighbours, progress=progress
    )
    report = None
    if check:
        rng = np.random.default_rng([seed, 1])  # of its own, so that checking does not change the release
        utility = measure_utility(real, target, rng, neighbours=neighbours)
        report = SynthesisReport(measure_privacy(real, release.table, target, rng), utility)
    return Synthetic(release.table, tuple(release.notes), report)


def _without(table: pa.Table, target: str, ignore: Sequence[str]) -> pa.Table:
    """The table to release, checked."""
    for name in (target, *ignore):
        if name not in table.column_names:
            raise TableError(f'there is no column "{name}": there are {quoted(table.column_names, 20)}')
    if target in ignore:
        raise TableError(f'column "{target}" is both target and ignored: leave out one of them')
    if table.num_rows == 0:
        raise TableError("the table has no rows to mix: pass one with at least five a class")
    kept = table.drop_columns(list(ignore)) if ignore else table
    if kept.num_columns < 2:
        raise TableError(f'there is no column besides "{target}": ignore fewer')
    refuse_identifiers(kept.drop_columns([target]))
    return kept
