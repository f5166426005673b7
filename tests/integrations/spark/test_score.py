import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gditd.tables import TableError
from tests.cli.conftest import invoke

pytest.importorskip("pyspark", reason="needs pyspark: pip install 'gditd[spark]'")

from pyspark.errors import PythonException
from pyspark.sql import functions as sql

from gditd.integrations.spark import ScoringMetrics, score
from gditd.integrations.spark.worker import MODELS_KEPT, loaded

pytestmark = [
    pytest.mark.xdist_group("spark"),  # one process, one Spark
    pytest.mark.filterwarnings("ignore:ignored 1 column not seen in training", "ignore:PySpark does not yet"),
]

ADDED = ["verdict", "known_class", "p_value", "ood_score"]


@pytest.fixture(scope="module")
def rows(spark, table):
    """The new rows in three partitions."""
    return spark.read.parquet(str(table)).repartition(3, "id").cache()


@pytest.fixture(scope="module")
def damaged(rows):
    """The same with numbers as text, and one that is none."""
    text = sql.when(sql.col("id") == 44, "many").otherwise(sql.col("amount").cast("string"))
    return rows.withColumn("amount", text)


def collected(frame):
    """A DataFrame's rows in the order of their numbers."""
    found = pd.DataFrame([row.asDict() for row in frame.collect()], columns=frame.columns)
    return found.sort_values("id").reset_index(drop=True)


def predicted(model_file, table, folder, *options):
    """What `gditd predict` makes of the same rows on one machine."""
    out = folder / "predicted.parquet"
    result = invoke("predict", model_file, table, "--out", out, *options)
    assert result.exit_code == 0, result.stderr
    return pd.read_parquet(out)


def same(found, expected):
    assert list(found.columns) == list(expected.columns)
    pd.testing.assert_frame_equal(found.astype(expected.dtypes), expected)


def jobs(spark):
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))


def test_the_same_as_predict_with_figures_of_every_class_and_partition(spark, rows, model_file, table, tmp_path):
    metrics = ScoringMetrics(spark)
    scored = score(rows, model_file, explain=2, on_error="ood", metrics=metrics)
    assert metrics.total().rows == 0, "nothing is done before an action"
    expected = predicted(model_file, table, tmp_path, "--explain", 2, "--on-error", "ood")
    same(collected(scored), expected)
    total = metrics.total()
    assert (total.rows, total.ood, total.unread) == (90, (expected["verdict"] == "OOD").sum(), 0)
    assert total.rows_of == expected["known_class"].value_counts().to_dict()
    assert total.ood_of == expected[expected["verdict"] == "OOD"]["known_class"].value_counts().to_dict()
    partitions = metrics.partitions()
    assert list(partitions) == [0, 1, 2]
    assert sum(figures.ood for figures in partitions.values()) == total.ood
    assert scored.count() == 90
    assert metrics.total() == total, "another action replaces what the first one has counted"


def test_a_model_is_loaded_once_in_a_process(spark, rows, model_file):
    for _ in range(2):
        score(rows, model_file).collect()

    def loads(batches):
        import pyarrow as pa

        for _ in batches:
            info = loaded.cache_info()
            found = {"process": os.getpid(), "models": info.currsize, "loads": info.misses, "reuses": info.hits}
            yield pa.RecordBatch.from_pylist([found])

    found = rows.mapInArrow(loads, "process long, models long, loads long, reuses long").collect()
    assert all(row.models in (row.loads, MODELS_KEPT) for row in found)
    assert found


def test_columns_to_keep(rows, model, model_file):
    assert score(rows, model).columns == [*rows.columns, *ADDED]
    assert score(rows, str(model_file), keep=False).columns == ADDED
    kept = score(rows, model_file, keep=["id", "gap"])
    assert kept.columns == ["gap", "id", *ADDED]
    assert collected(kept)["verdict"][:10].tolist() == ["OOD"] * 10
    with pytest.raises(TableError, match='no column "none" to keep'):
        score(rows, model, keep=["none"])


def test_columns_of_any_name_and_order(spark, rows, model, new_rows):
    odd = rows.select(*reversed(rows.columns), sql.lit(1).alias("a.b`c"))
    found = collected(score(odd, model, keep=["id", "a.b`c"]))
    assert found["verdict"].tolist() == model.verdict(new_rows)["verdict"].tolist()
    assert set(found["a.b`c"]) == {1}


def test_columns_are_checked_before_any_task_runs(spark, rows, model):
    before = jobs(spark)
    with pytest.raises(TableError, match=r'^the table lacks column "amount", which the model was trained on: add'):
        score(rows.drop("amount"), model)
    with pytest.raises(TableError, match=r'^column "amount", row 1: a value of type list<.*> where a number is expec'):
        score(rows.withColumn("amount", sql.array("amount")), model)
    with pytest.raises(TableError, match=r'^column "day", row 1: a value of type double where a date is expected'):
        score(rows.withColumn("day", sql.lit(1.5)), model)
    with pytest.raises(TableError, match=r'^column "region", row 1: a value of type list<.*> where a category is expe'):
        score(rows.withColumn("region", sql.array("region")), model)
    with pytest.raises(TableError, match='already has a column "verdict"'):
        score(rows.withColumn("verdict", sql.lit("x")), model)
    with pytest.raises(ValueError, match="alpha must lie between 0 and 1"):
        score(rows, model, alpha=2)
    with pytest.raises(ValueError, match="on_error must be"):
        score(rows, model, on_error="skip")
    with pytest.raises(ValueError, match="there is no such file"):
        score(rows, "none.gditd")
    assert jobs(spark) == before


def test_a_bad_row_fails_the_job(damaged, model):
    with pytest.raises(PythonException, match=r'TableError: column "amount", row \d+: "many" is not a number \(rows'):
        score(damaged, model).collect()


def test_a_bad_row_can_be_ood(spark, damaged, model, new_rows):
    metrics = ScoringMetrics(spark)
    found = collected(score(damaged, model, on_error="ood", metrics=metrics))
    assert found["error"].notna().to_numpy().nonzero()[0].tolist() == [44]
    assert found["error"][44].endswith('"many" is not a number')
    assert found["verdict"][44] == "OOD"
    others = found.index != 44
    assert found["verdict"][others].tolist() == model.verdict(new_rows)["verdict"][others].tolist()
    assert metrics.total().unread == 1


def test_a_stream(spark, rows, model, new_rows, tmp_path):
    for part in range(2):
        new_rows[part::2].to_parquet(tmp_path / f"{part}.parquet")
    stream = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path))
    metrics = ScoringMetrics(spark)
    scored = score(stream, model, metrics=metrics)
    assert scored.isStreaming
    query = scored.writeStream.format("memory").queryName("verdicts").trigger(availableNow=True).start()
    query.awaitTermination()
    expected = model.verdict(new_rows)
    found = collected(spark.table("verdicts"))
    assert found["verdict"].tolist() == expected["verdict"].tolist()
    np.testing.assert_allclose(found["ood_score"], expected["ood_score"], rtol=1e-6)
    assert metrics.total().rows == 90, "batches are added up"
    assert metrics.total().ood == (expected["verdict"] == "OOD").sum()


def test_the_command_line(spark, model_file, table, damaged, tmp_path):
    out = tmp_path / "verdicts"
    args = ("predict", model_file, table, "--engine", "spark", "--out", out)
    result = invoke(*args, "--explain", 1)
    assert result.exit_code == 0, result.stderr
    note, outcome = result.stderr.splitlines()
    assert note.startswith("note: ignored 1 column not seen in training")
    assert outcome.startswith("90 rows, ")
    same(pd.read_parquet(out), predicted(model_file, table, tmp_path, "--explain", 1))
    assert "is there already" in invoke(*args).stderr
    damaged.write.parquet(str(tmp_path / "damaged"))
    before = sorted(tmp_path.iterdir())
    result = invoke("predict", model_file, tmp_path / "damaged", "--engine", "spark", "--out", tmp_path / "new")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith('error: column "amount", row ')
    assert '"many" is not a number' in result.stderr
    assert sorted(tmp_path.iterdir()) == before, "nothing is left behind"


def test_refusals_of_the_command_line(spark, model_file, table, tmp_path):
    def refused(*args):
        result = invoke("predict", model_file, *args)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        return result.stderr

    out = ("--engine", "spark", "--out", tmp_path / "out")
    assert "say where with --out DIR" in refused(table, "--engine", "spark")
    assert "reads Parquet" in refused(tmp_path / "new.csv", *out)
    assert "there is no file" in refused(tmp_path / "none.parquet", *out)
    assert "there is no folder" in refused(table, "--engine", "spark", "--out", tmp_path / "none" / "out")
    assert "--workers is for --engine local" in refused(table, *out, "--workers", 2)
    assert "--master is for --engine spark" in refused(table, "--master", "local[2]")
    assert list(tmp_path.iterdir()) == []


def test_paths_of_other_systems():
    from gditd.cli.tasks.predict_spark import address

    assert address(Path("hdfs://host:9000/new/rows")) == "hdfs://host:9000/new/rows"
    assert address(Path("/data/new rows")) == "file:///data/new%20rows"
