"""The tests of `statistics` as tables: the reference against its rivals, and mean ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from gditd.bench.report import paper_figures
from gditd.bench.report.cells import matrix, tidy
from gditd.bench.report.names import PAPER_METHOD, PAPER_METHODS, SHARES, in_order, metric_named
from gditd.bench.report.statistics import (
    ALPHA,
    FEWEST_PAIRS,
    Comparison,
    Ranks,
    against_best_other,
    against_each,
    holm,
    rank,
)
from gditd.bench.report.tables import ABSENT, Cell, Row, Table, best, number, p_value

TEST_HEADINGS = ("Cells", "Won", "Lost", "Median difference, points", "p", "p, Holm")
NOT_INDEPENDENT = (
    "A cell is a data set, its OOD class and an MDSR. Cells of one data set share most of their rows: they are not "
    "independent, as the test supposes, so the p-values claim more than they should."
)


def reference_method(results: pd.DataFrame) -> str:
    """The method that the others are held against: gditd where it was measured, else the paper's, else the first."""
    methods = list(dict.fromkeys(results["method"].astype(str)))
    return next((m for m in ("gditd", PAPER_METHOD, *methods) if m in methods), PAPER_METHOD)


def second_best_table(results: pd.DataFrame) -> Table:
    """The paper's test: its method against the best of the paper's other methods in each cell."""
    tidied = tidy(results)
    printed = paper_figures.wilcoxon_p_values()
    ours = [against_best_other(matrix(tidied, metric, list(PAPER_METHODS)), PAPER_METHOD) for metric in SHARES]
    theirs = [against_best_other(paper_matrix(metric), PAPER_METHOD) for metric in SHARES]
    rows = [
        Row((metric_named(metric).label,), (*tested, Cell(p_value(paper.p_value)), Cell(_printed(printed, metric))))
        for metric, tested, paper in zip(SHARES, _tested(ours), theirs, strict=True)
    ]
    return Table(
        title=f"{PAPER_METHOD} against the second-best score",
        label_headings=("Metric",),
        headings=(*TEST_HEADINGS, "p from the paper's Table 3", "p in the paper's text"),
        rows=tuple(rows),
        notes=(
            "Wilcoxon's signed-rank test, exact and two-sided, over cell means; the rival in each cell is the best of "
            f"{', '.join(m for m in PAPER_METHODS if m != PAPER_METHOD)}.",
            NOT_INDEPENDENT,
            *_too_few(ours),
        ),
    )


def each_rival_table(results: pd.DataFrame, reference: str, methods: Sequence[str]) -> Table:
    """The reference against every other of the methods, metric by metric."""
    tidied = tidy(results)
    both = in_order([*methods, reference], [])
    found = [(metric, c) for metric in SHARES for c in against_each(matrix(tidied, metric, both), reference)]
    tested = [(metric, comparison) for metric, comparison in found if comparison.cells]
    comparisons = [comparison for _, comparison in tested]
    rows = [
        Row((metric_named(metric).label, comparison.rival), cells)
        for (metric, comparison), cells in zip(tested, _tested(comparisons), strict=True)
    ]
    return Table(
        title=f"{reference} against each method",
        label_headings=("Metric", "Method"),
        headings=TEST_HEADINGS,
        rows=tuple(rows),
        notes=(
            "Wilcoxon's signed-rank test, exact and two-sided, over cell means. A difference above zero speaks for "
            f"{reference}. Holm's correction counts the {len(tested)} comparisons of this table.",
            NOT_INDEPENDENT,
            *_too_few(comparisons),
        ),
    )


def ranks_by_metric(results: pd.DataFrame, methods: Sequence[str]) -> dict[str, Ranks]:
    """The ranks of the methods for each share that has any figure."""
    tidied = tidy(results)
    measured = set(tidied["metric"])
    return {metric: rank(matrix(tidied, metric, list(methods))) for metric in SHARES if metric in measured}


def rank_table(ranks: Mapping[str, Ranks]) -> Table:
    """Mean ranks, methods down and metrics across, with the tests in the notes."""
    methods = in_order((method for found in ranks.values() for method in found.mean_ranks), PAPER_METHODS)
    columns = [_rank_column(found, methods) for found in ranks.values()]
    return Table(
        title="Mean ranks",
        label_headings=("Method",),
        headings=tuple(metric_named(metric).label for metric in ranks),
        rows=tuple(Row((method,), tuple(column[i] for column in columns)) for i, method in enumerate(methods)),
        notes=(
            "Rank 1 is the best method of a cell; ties share their mean rank. Two methods whose mean ranks differ by "
            f"at least the critical difference (Nemenyi, {ALPHA:g}) differ significantly.",
            *(f"{metric_named(metric).label}: {_told(found)}" for metric, found in ranks.items()),
        ),
    )


def paper_matrix(metric: str) -> pd.DataFrame:
    """The paper's own cells of one metric, in the shape the tests take."""
    published = paper_figures.table3()
    return published[published["metric"] == metric].pivot(index=["dataset", "mdsr"], columns="method", values="value")


def _tested(comparisons: Sequence[Comparison]) -> list[tuple[Cell, ...]]:
    corrected = holm([comparison.p_value for comparison in comparisons])
    return [
        (
            Cell(str(c.cells)),
            Cell(str(c.won)),
            Cell(str(c.lost)),
            Cell(number(c.median_difference, signed=True)),
            Cell(p_value(c.p_value)),
            Cell(p_value(adjusted), bold=adjusted < ALPHA),
        )
        for c, adjusted in zip(comparisons, corrected, strict=True)
    ]


def _too_few(comparisons: Sequence[Comparison]) -> list[str]:
    if not any(comparison.cells for comparison in comparisons):
        return ["No cell has figures of both sides: there is nothing to test."]
    if all(comparison.cells >= FEWEST_PAIRS for comparison in comparisons):
        return []
    return [f"With fewer than {FEWEST_PAIRS} cells no difference, however large, gets a p-value below {ALPHA:g}."]


def _printed(printed: Mapping[str, float], metric: str) -> str:
    return p_value(printed[metric]) if metric in printed else ABSENT


def _rank_column(found: Ranks, methods: Sequence[str]) -> tuple[Cell, ...]:
    means = [found.mean_ranks.get(method, float("nan")) for method in methods]
    marks = best(means, higher=False)
    return tuple(Cell(number(mean), mark) for mean, mark in zip(means, marks, strict=True))


def _told(found: Ranks) -> str:
    left_out = f" Left out for lack of cells: {', '.join(found.left_out)}." if found.left_out else ""
    if found.reason:
        return f"no ranks, for {found.reason}.{left_out}"
    return (
        f"{found.cells} cells, Friedman p {p_value(found.friedman_p)}, critical difference "
        f"{number(found.critical_difference)}.{left_out}"
    )
