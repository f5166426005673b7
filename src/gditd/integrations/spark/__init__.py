"""Verdicts on Spark DataFrames."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gditd.integrations.spark.requirements import refuse_missing_pyspark

if TYPE_CHECKING:
    from gditd.integrations.spark.metrics import Figures, ScoringMetrics
    from gditd.integrations.spark.scoring import score

__all__ = ["Figures", "ScoringMetrics", "score"]

_HOMES = {"Figures": "metrics", "ScoringMetrics": "metrics", "score": "scoring"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, and say how to get pyspark where it is missing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    refuse_missing_pyspark()
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
