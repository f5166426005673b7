"""Why a row is strange: the columns that push it out of the known classes, with what would be usual."""

from gditd.explain.explainer import ColumnReason, Explainer, Explanation

__all__ = ["ColumnReason", "Explainer", "Explanation"]
