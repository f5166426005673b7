"""A tiny model, rows for it, and one Spark for all tests of a process: its start takes seconds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gditd import GDITDClassifier
from gditd.integrations.spark.requirements import has_java
from tests.raw_tables import mixed_table, quick

QUICK_JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"  # starts soonest, for work that is over in seconds
SETTINGS = {
    "spark.driver.extraJavaOptions": QUICK_JAVA,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


@pytest.fixture(scope="session")
def java() -> None:
    """Skip where Spark cannot start."""
    pytest.importorskip("pyspark", reason="needs pyspark: pip install 'gditd[spark]'")
    if not has_java():
        pytest.skip("needs Java: install default-jre-headless, or set JAVA_HOME")


@pytest.fixture(scope="session")
def spark(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Spark on two cores of this machine."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("gditd tests")
    builder = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")  # failures are part of the tests
    yield session
    session.stop()


@pytest.fixture(scope="session")
def model() -> GDITDClassifier:
    train, labels = mixed_table()
    # No backbone of the tests' own, which the executors could not import.
    return quick(backbone="mlp").fit(train, labels)


@pytest.fixture(scope="session")
def model_file(model: GDITDClassifier, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spark") / "model.gditd"
    model.save(path)
    return path


@pytest.fixture(scope="session")
def new_rows() -> pd.DataFrame:
    """90 rows with a number each, ten of them of a kind never trained on."""
    rows, _ = mixed_table((20, 30, 40), seed=1)
    rows.loc[:9, "amount"] = 90.0
    return rows.assign(id=range(len(rows)))


@pytest.fixture(scope="session")
def table(new_rows: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spark") / "new.parquet"
    new_rows.to_parquet(path)
    return path
