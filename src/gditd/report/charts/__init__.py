"""Charts as inline SVG, one kind a file. Colours are the page's variables, so that they follow light and dark."""

from gditd.report.charts.bars import Bar, bars
from gditd.report.charts.figure import figure, legend, side_by_side
from gditd.report.charts.lines import Line, lines
from gditd.report.charts.map import map_chart
from gditd.report.charts.marks import Mark
from gditd.report.charts.strips import Strip, strips
from gditd.report.charts.style import CHART_STYLE

__all__ = [
    "CHART_STYLE",
    "Bar",
    "Line",
    "Mark",
    "Strip",
    "bars",
    "figure",
    "legend",
    "lines",
    "map_chart",
    "side_by_side",
    "strips",
]
