"""What Spark needs, and what to say where it is missing."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

PYSPARK = "scoring on Spark needs pyspark, which is not installed: pip install 'gditd[spark]'"
JAVA = (
    "Spark needs Java, and there is none: install a runtime of Java 17 or later (Debian: default-jre-headless), "
    "or let JAVA_HOME name the folder of one"
)


class MissingPysparkError(ImportError, ValueError):
    """pyspark is not installed: a failed import to a program, a wrong option to the command line."""


def refuse_missing_pyspark() -> None:
    """Say how to get pyspark where it is missing."""
    if importlib.util.find_spec("pyspark") is None:
        raise MissingPysparkError(PYSPARK, name="pyspark")


def refuse_missing_java() -> None:
    """Say how to get Java where this machine has to start Spark and cannot."""
    if not has_java():
        raise ValueError(JAVA)


def has_java() -> bool:
    """Whether there is a Java to start."""
    home = os.environ.get("JAVA_HOME")
    return (Path(home) / "bin" / "java").is_file() if home else shutil.which("java") is not None
