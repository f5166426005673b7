import datetime
import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from gditd.tables import TableError, TableSchema


def kind(values, type=None):
    return TableSchema.learn(pa.table({"a": pa.array(values, type)}))["a"].kind


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], "number"),
        ([1.5, None], "number"),
        ([Decimal("1.5"), Decimal("2.5")], "number"),
        ([datetime.timedelta(seconds=1), datetime.timedelta(seconds=5)], "number"),
        (["1", " 2.5 ", None, "1e3"], "number"),
        (["1", "2", "x"], "category"),
        (["x", "y", None], "category"),
        ([True, False], "boolean"),
        (["true", "False", None], "boolean"),
        ([datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)], "datetime"),
        ([datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 2)], "datetime"),
        ([datetime.time(10, 30), datetime.time(11)], "datetime"),
        (["2024-01-01", "2024-01-02T10:00:00", None], "datetime"),
        (["2024-01-01T00:00:00Z", "2024-01-02T10:00:00+02:00"], "datetime"),
        (["10:30", "11:00:05"], "datetime"),
        (["2024-01-01", "soon"], "category"),
        ([None, None], "constant"),
        (["", ""], "constant"),
        ([5, 5], "constant"),
        (["x", "x"], "constant"),
        ([True, True], "constant"),
        ([float("nan"), float("nan")], "constant"),
        ([5, None], "number"),
        (["x", None], "category"),
    ],
)
def test_kinds(values, expected):
    assert kind(values) == expected


@pytest.mark.parametrize(
    ("values", "known", "expected"),
    [
        (["1", "2"], "category", "category"),
        (["true", "false"], "category", "category"),
        (["2024-01-01", "2024-01-02"], "category", "category"),
        (["1", "1"], "category", "constant"),
        ([str(n) for n in range(30)], "category", "category"),  # no identifier, as the whole table has shown
        (["1", "0"], "number", "number"),
    ],
)
def test_some_of_a_tables_rows_may_look_like_another_kind(values, known, expected):
    learned = TableSchema.learn(pa.table({"a": values}), kinds={"a": known})
    assert learned["a"].kind == expected


def test_kinds_are_those_of_columns_that_vary():
    table = pa.table({"a": [1, 2], "b": ["x", "x"], "c": ["x", "y"]})
    assert TableSchema.learn(table).kinds == {"a": "number", "c": "category"}


def test_dictionaries_are_what_they_hold():
    assert kind(pa.array(["x", "y"]).dictionary_encode()) == "category"


def test_numbers():
    column = TableSchema.learn(pa.table({"a": [1.0, 2.0, None, 6.0, float("nan")]}))["a"]
    assert (column.minimum, column.maximum, column.mean) == (1, 6, 3)
    assert column.std == pytest.approx(np.std([1, 2, 6]))
    assert column.share_missing == 0.4
    assert column.integer


def test_huge_numbers_do_not_overflow():
    column = TableSchema.learn(pa.table({"a": [1.7e308, -1.7e308, 0.0]}))["a"]
    assert np.isfinite([column.mean, column.std]).all()


def test_categories_most_frequent_first():
    column = TableSchema.learn(pa.table({"a": ["y", "x", "z", "x", "y", "x", ""]}))["a"]
    assert column.categories == (("x", 3), ("y", 2), ("z", 1))
    assert column.share_missing == 1 / 7


def test_identifiers_are_refused_with_the_cure():
    names = [f"id {i}" for i in range(20)]
    with pytest.raises(TableError, match=r'column "id" holds a different text.*--ignore id .*ignore=\["id"\]'):
        TableSchema.learn(pa.table({"id": names, "a": range(20)}))
    assert [c.name for c in TableSchema.learn(pa.table({"id": names, "a": range(20)}), ["id"]).columns] == ["a"]
    assert kind(names[:19]) == "category"
    assert kind([*names, names[0]]) == "category"


def test_nested_columns_are_refused_with_the_cure():
    with pytest.raises(TableError, match=r'column "tags" holds values of type list.*--ignore tags'):
        TableSchema.learn(pa.table({"tags": [[1], [2]]}))


def test_infinite_values_are_refused():
    with pytest.raises(TableError, match='column "a", row 2: inf is not a finite number'):
        TableSchema.learn(pa.table({"a": [1.0, float("inf")]}))
    with pytest.raises(TableError, match='column "a", row 2: inf is not a finite number'):
        TableSchema.learn(pa.table({"a": ["1", "1e999"]}))


def test_no_rows_and_unknown_ignore():
    with pytest.raises(TableError, match="no rows"):
        TableSchema.learn(pa.table({"a": pa.array([], pa.int64())}))
    with pytest.raises(TableError, match='no column "b" to ignore: there are "a"'):
        TableSchema.learn(pa.table({"a": [1]}), ["b"])


def test_round_trip_through_json():
    table = pa.table(
        {
            "": [0.1, 1 / 3, None],
            "größe 😀": ["x", "ü", None],
            "when": [datetime.datetime(2024, 1, 1), None, datetime.datetime(2024, 1, 2)],
            "flag": [True, False, None],
            "same": [1, 1, 1],
            "none": pa.nulls(3),
        }
    )
    schema = TableSchema.learn(table)
    text = json.dumps(schema.to_dict(), allow_nan=False)
    assert TableSchema.from_dict(json.loads(text)) == schema


def test_describe_is_for_people():
    table = pa.table({"a": [1, 2], "b": ["x", "y"], "c": [True, False], "d": [1, 1], "e": pa.nulls(2)})
    table = table.append_column("f", pa.array(["2024-01-01", "2024-02-01"]))
    rows = {row["column"]: row for row in TableSchema.learn(table).describe()}
    assert rows["a"] == {"column": "a", "kind": "number", "missing": 0.0, "summary": "1 to 2, mean 1.5, std 0.5"}
    assert rows["b"]["summary"] == "2 categories: x (1), y (1)"
    assert rows["c"]["summary"] == "50.0% true"
    assert rows["d"]["summary"] == 'always "1", not used'
    assert rows["e"]["summary"] == "always missing, not used"
    assert rows["f"]["summary"] == "2024-01-01T00:00:00 to 2024-02-01T00:00:00"
    with pytest.raises(KeyError):
        TableSchema.learn(table)["z"]
