"""A Spark session for a command: started quietly, and stopped at its end."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REASONS = (re.compile(r"Reason: (.+)"), re.compile(r"(?:Exception|Error): (\S.*)"), re.compile(r"(\S.*)"))


@contextmanager
def spark_session(master: str) -> Iterator[SparkSession]:
    """Connect to a master, such as local[2] or spark://host:7077; a session that is there already is used and stays."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - may be missing, and takes a moment

    there = SparkSession.getActiveSession()
    if there is not None:
        yield there
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # tasks need this very Python's packages
    with plain_ctrl_c():
        spark = started(SparkSession.builder.master(master).appName("gditd predict"), master)
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            yield spark
        finally:
            spark.stop()


@contextmanager
def plain_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C be an interruption and no more: Spark's own handler, and the gateway to Java, would log pages."""
    before, level = signal.getsignal(signal.SIGINT), logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(level)
        signal.signal(signal.SIGINT, before)


def started(builder: SparkSession.Builder, master: str) -> SparkSession:
    """Start Spark. What its Java process has to say stays out of sight, unless it is why Spark cannot start."""
    if master.startswith("local"):
        builder = builder.config("spark.ui.enabled", "false")  # a port is opened for nobody
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    with tempfile.TemporaryFile() as said:
        try:
            with stderr_into(said):
                return builder.getOrCreate()
        except Exception as error:  # of Java, of the gateway to it, or of Spark itself
            said.seek(0)
            why = reason(said.read().decode(errors="replace"), str(error))
            raise ValueError(f"Spark could not be started with the master {master}: {why}") from None


def reason(*said: str) -> str:
    """Why Spark did not start, found in what Java and Python have said about it."""
    for clue in REASONS:
        for text in said:
            if found := clue.search(text):
                return found[1].strip().rstrip(".")
    return "it does not say why"


@contextmanager
def stderr_into(file: BinaryIO) -> Iterator[None]:
    """Let processes that are started inside write their errors to a file, for as long as they live."""
    sys.stderr.flush()
    before = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(before, 2)
        os.close(before)
