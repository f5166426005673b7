"""HTML reports: what a model learned, and how it did on labelled rows."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gditd.report.evaluation import evaluate_report
    from gditd.report.training import fit_report

__all__ = ["evaluate_report", "fit_report"]

_HOMES = {"evaluate_report": "gditd.report.evaluation", "fit_report": "gditd.report.training"}


def __getattr__(name: str) -> Any:
    """Import a report when it is asked for: others want the frame of the page only, and torch takes seconds."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
