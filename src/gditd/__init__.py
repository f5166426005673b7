"""Classify rows of imbalanced tables, and say which rows belong to no known class."""

from gditd.classifier import GDITDClassifier
from gditd.model_file import ModelFileError, load

__version__ = "0.1.0"

__all__ = ["GDITDClassifier", "ModelFileError", "__version__", "load"]
