"""Spark's TorchDistributor starts processes that train together."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

import gditd
from tests.raw_tables import mixed_table

pytest.importorskip("pyspark", reason='needs Spark: pip install "gditd[spark]"')
pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="needs Java")


def train(path: str, out: str) -> tuple[int, int]:
    import torch.distributed as dist

    from gditd import GDITDClassifier
    from gditd.training import leads

    model = GDITDClassifier(preset="fast", random_state=0).fit_parquet(path, "kind")
    if leads():
        model.save(out)
    return model.summary()["rows"], dist.get_world_size()


def test_two_processes(tmp_path, monkeypatch):
    from pyspark import cloudpickle
    from pyspark.ml.torch.distributor import TorchDistributor
    from pyspark.sql import SparkSession

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # the processes do not have the tests' folder
    for name, value in {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "OMP_NUM_THREADS": "1",
    }.items():
        monkeypatch.setenv(name, value)
    table, labels = mixed_table((70, 80, 110))
    table.assign(kind=labels).to_parquet(tmp_path / "train.parquet")
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        distributor = TorchDistributor(num_processes=2, local_mode=True, use_gpu=False)
        found = distributor.run(train, str(tmp_path / "train.parquet"), str(tmp_path / "m.gditd"))
    finally:
        session.stop()
    assert tuple(found) == (260, 2)
    alone = gditd.GDITDClassifier(preset="fast", random_state=0).fit(table, labels).verdict(table)["verdict"]
    together = gditd.load(tmp_path / "m.gditd").verdict(table)["verdict"]
    assert (alone == together).mean() > 0.97
    assert "RANK" not in os.environ
