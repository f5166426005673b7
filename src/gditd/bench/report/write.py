"""A folder with all that a reader wants of a bench run, which may be unfinished: what is missing is said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from gditd.atomic import write_atomically
from gditd.bench.report.figures import Picture, PlottingMissingError, embedding_picture, mdsr_picture, rank_picture
from gditd.bench.report.figures.embeddings import Labels, Points
from gditd.bench.report.formats import LATEX_NEEDS, latex
from gditd.bench.report.mean_tables import mean_tables, own_missing, trial_tables
from gditd.bench.report.names import PAPER_DATASETS, PAPER_METHOD, compared, in_order
from gditd.bench.report.page import Section, markdown_page, page
from gditd.bench.report.paper_tables import difference_table, table3, table3_missing, table4, table4_missing
from gditd.bench.report.significance import (
    each_rival_table,
    rank_table,
    ranks_by_metric,
    reference_method,
    second_best_table,
)
from gditd.bench.report.tables import Table

Blocks = list[str | Table | Picture]
Embeddings = Mapping[str, tuple[Points, Labels, object]]
NO_RESULTS = "There are no results yet."


def write_paper_report(
    results: pd.DataFrame, out: Path, *, context: Mapping[str, str], embeddings: Embeddings | None = None
) -> list[Path]:
    """The paper's tables and figures measured again, beside the published ones; returns the files written."""
    folder = _Folder(out, context)
    methods = compared(results["method"].astype(str))
    main: Blocks = [*table3_missing(results), *_with_rows(*table3(results), difference_table(results))]
    ablation: Blocks = [*table4_missing(results), table4(results)]
    ranks = ranks_by_metric(results, methods)
    each = each_rival_table(results, PAPER_METHOD, methods)
    tests: Blocks = [*_with_rows(second_best_table(results), each, rank_table(ranks))]
    datasets = [d for d in PAPER_DATASETS if d in set(results["dataset"])]
    curves = folder.draw([partial(mdsr_picture, results, d, methods, with_paper=True) for d in datasets])
    diagram = folder.draw([partial(rank_picture, ranks)])
    clouds = folder.draw([partial(embedding_picture, embeddings)] if embeddings else [])
    folder.write_tables("table3", "The paper's Table 3, measured again", main)
    folder.write_tables("table4", "The paper's Table 4, measured again", ablation)
    folder.write_markdown("significance", "Do the methods differ?", [*tests, *diagram])
    sections = [Section("Table 3", main), Section("Against MDSR", curves), Section("Table 4", ablation)]
    sections += [Section("Do the methods differ?", [*tests, *diagram]), Section("Embeddings", clouds)]
    sections += _more_sections(results, folder)
    folder.write_page("The paper's experiments, measured again", sections)
    return folder.written


def write_report(results: pd.DataFrame, out: Path, *, context: Mapping[str, str]) -> list[Path]:
    """What the methods come to on somebody's own tables; returns the files written."""
    folder = _Folder(out, context)
    means: Blocks = [*own_missing(results), *mean_tables(results)]
    datasets = in_order(results["dataset"].astype(str), [])
    methods = in_order(results["method"].astype(str), [])
    curves = folder.draw([partial(mdsr_picture, results, d, methods) for d in datasets])
    tests: Blocks = []
    diagram: Blocks = []
    ranks = ranks_by_metric(results, methods)
    if any(found.mean_ranks for found in ranks.values()):
        each = each_rival_table(results, reference_method(results), methods)
        tests = [*_with_rows(each, rank_table(ranks))]
        diagram = folder.draw([partial(rank_picture, ranks)])
    elif ranks:
        tests = [f"No test of differences: {next(iter(ranks.values())).reason}."]
    sections = [
        Section("Results", means or [NO_RESULTS]),
        Section("Against MDSR", curves),
        Section("Do the methods differ?", [*tests, *diagram]),
    ]
    blocks = [block for section in sections for block in section.blocks]
    folder.write_markdown("results", "Results", blocks)
    folder.write_page("Results", sections)
    return folder.written


class _Folder:
    """The folder a report goes to, and what has been written there so far."""

    def __init__(self, out: Path, context: Mapping[str, str]) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self.out = out
        self.context = context
        self.written: list[Path] = []

    def draw(self, drawings: Sequence[Callable[[], Picture | None]]) -> Blocks:
        """Draw and write pictures; without matplotlib, one line that says what to install."""
        try:
            pictures = [drawn for draw in drawings if (drawn := draw()) is not None]
        except PlottingMissingError as error:
            return [f"No picture here: {error}."]
        for drawn in pictures:
            self.written += drawn.write(self.out)
        return [*pictures]

    def write_tables(self, name: str, title: str, blocks: Blocks) -> None:
        """Markdown, and LaTeX of the tables among the blocks."""
        self.write_markdown(name, title, blocks)
        facts = [f"% {key}: {' '.join(str(value).split())}" for key, value in self.context.items()]
        tables = [latex(block) for block in blocks if isinstance(block, Table)]
        lines = [f"% {block}" for block in blocks if isinstance(block, str)]
        self._write(f"{name}.tex", "\n".join([LATEX_NEEDS, *facts, *lines, "", *tables]))

    def write_markdown(self, name: str, title: str, blocks: Blocks) -> None:
        """One Markdown file."""
        self._write(f"{name}.md", markdown_page(title, self.context, blocks))

    def write_page(self, title: str, sections: Sequence[Section]) -> None:
        """report.html with all sections that have anything to show."""
        self._write("report.html", page(title, self.context, [section for section in sections if section.blocks]))

    def _write(self, name: str, text: str) -> None:
        path = self.out / name
        write_atomically(path, lambda temporary: _write_text(temporary, text))
        self.written.append(path)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _with_rows(*tables: Table) -> list[Table]:
    return [table for table in tables if table.rows]


def _more_sections(results: pd.DataFrame, folder: _Folder) -> list[Section]:
    """What was measured beyond the paper: variants of its method, and data sets it does not have."""
    trials: Blocks = [*trial_tables(results)]
    if trials:
        folder.write_markdown("trials", "Variants of the paper's method", trials)
    others: Blocks = [*mean_tables(results[~results["dataset"].isin(PAPER_DATASETS)])]
    return [Section("Variants of the paper's method", trials), Section("Other data sets", others)]
