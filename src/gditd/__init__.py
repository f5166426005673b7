"""Classify rows of imbalanced tables, and say which rows belong to no known class."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gditd.classifier import GDITDClassifier
    from gditd.model_file import ModelFileError, load

__version__ = "0.1.0"

__all__ = ["GDITDClassifier", "ModelFileError", "__version__", "load"]

_HOMES = {"GDITDClassifier": "gditd.classifier", "ModelFileError": "gditd.model_file", "load": "gditd.model_file"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: torch takes seconds, and the command line's help needs none."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
