"""The report's pictures, drawn by matplotlib, which is imported when the first one is drawn."""

from gditd.bench.report.figures.canvas import Picture, PlottingMissingError, picture
from gditd.bench.report.figures.embeddings import embedding_picture, project, sample_rows
from gditd.bench.report.figures.mdsr import mdsr_picture
from gditd.bench.report.figures.ranks import rank_picture

__all__ = [
    "Picture",
    "PlottingMissingError",
    "embedding_picture",
    "mdsr_picture",
    "picture",
    "project",
    "rank_picture",
    "sample_rows",
]
