"""How what tasks have counted is joined; needs pyspark, but no Spark."""

from collections import Counter

import pytest

pytest.importorskip("pyspark", reason="needs pyspark: pip install 'gditd[spark]'")

from gditd.integrations.spark.metrics import Counting, QueryCount
from gditd.verdict_columns import Tally


def task(partition, rows, batch=-1, query="one"):
    return {query: QueryCount(batch, {partition: Tally(Counter(good=rows))})}


def rows_of(counted):
    return {
        query: {partition: tally.rows for partition, tally in count.partitions().items()}
        for query, count in counted.items()
    }


def joined(*tasks):
    counting = Counting()
    total = counting.zero({})
    for counted in tasks:
        total = counting.addInPlace(total, counted)
    return rows_of(total)


def test_partitions_add_up_and_a_task_that_runs_again_counts_once():
    assert joined(task(0, 5), task(1, 7), task(0, 5)) == {"one": {0: 5, 1: 7}}


def test_queries_are_kept_apart():
    assert joined(task(0, 5), task(0, 7, query="two")) == {"one": {0: 5}, "two": {0: 7}}


def test_batches_of_a_stream_add_up_and_one_that_comes_again_counts_once():
    assert joined(task(0, 5, 0), task(0, 2, 1), task(0, 2, 1), task(1, 1, 2)) == {"one": {0: 7, 1: 1}}
    assert joined(task(0, 5, 3), task(0, 5, 2)) == {"one": {0: 5}}


def test_what_was_counted_is_not_changed_by_joining():
    first = task(0, 5, 0)
    assert joined(first, task(0, 5, 1), task(0, 5, 2)) == {"one": {0: 15}}
    assert rows_of(first) == {"one": {0: 5}}
