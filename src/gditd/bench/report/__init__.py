"""From the results of a bench run, one row per figure, to what a researcher reads: tables, tests, figures, one page."""

from gditd.bench.report.figures import embedding_picture, project, sample_rows
from gditd.bench.report.mean_tables import mean_table, mean_tables
from gditd.bench.report.paper_tables import difference_table, differences, table3, table4
from gditd.bench.report.write import write_paper_report, write_report

__all__ = [
    "difference_table",
    "differences",
    "embedding_picture",
    "mean_table",
    "mean_tables",
    "project",
    "sample_rows",
    "table3",
    "table4",
    "write_paper_report",
    "write_report",
]
