import io
import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from gditd.cli.tasks.writers import FORMATS, CsvWriter, JsonLinesWriter, arrow, parquet
from gditd.tables import TableError


def written(make, *tables):
    file = io.BytesIO()
    writer = make(file)
    for table in tables:
        writer.write(table)
    writer.close()
    return file.getvalue()


def test_csv_comes_back():
    text = ["plain", 'a "quoted", word', "two\nlines", None, " ", "é"]
    table = pa.table({"text": text, "number": [1.5, None, 2, -1e300, 0.1, 3], "a,b": [1, 2, 3, 4, 5, 6]})
    found = pa.csv.read_csv(
        io.BytesIO(written(CsvWriter, table.slice(0, 2), table.slice(2))),
        parse_options=pa.csv.ParseOptions(newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(strings_can_be_null=True),
    )
    assert found.to_pydict() == table.to_pydict()


def test_csv_of_columns_that_csv_does_not_have():
    words = pa.array(["x", "y, z", "x"]).dictionary_encode()
    table = pa.table({"list": [[1, 2], None, []], "word": words, "flag": [True, None, False]})
    assert written(CsvWriter, table) == b'list,word,flag\n"[1, 2]",x,true\n,"y, z",\n[],x,false\n'


def test_json_lines_have_null_for_what_is_missing():
    table = pa.table({"x": [1.5, float("nan"), None], "n": pa.array([2**60, None, 1])})
    rows = [json.loads(line) for line in written(JsonLinesWriter, table).splitlines()]
    assert rows == [{"x": 1.5, "n": 2**60}, {"x": None, "n": None}, {"x": None, "n": 1}]


def endless(constant):
    raise AssertionError(f"{constant} is not JSON")


def test_json_has_null_for_what_is_not_finite_at_any_depth():
    wild = [float("inf"), float("-inf"), float("nan")]
    halves = pa.array([1.5, float("inf"), None], pa.float16())
    deep = [{"a": float("nan"), "b": [float("inf"), 1.0]}, None, {"a": 2.0, "b": []}]
    pairs = pa.array([[("k", float("inf"))], None, []], pa.map_(pa.string(), pa.float64()))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([float("nan"), 3.0]))
    table = pa.table({"wild": wild, "half": halves, "deep": deep, "pairs": pairs, "runs": runs})
    rows = [json.loads(line, parse_constant=endless) for line in written(JsonLinesWriter, table).splitlines()]
    assert [row["wild"] for row in rows] == [None, None, None]
    assert [row["half"] for row in rows] == [1.5, None, None]
    assert [row["deep"] for row in rows] == [{"a": None, "b": [None, 1.0]}, None, {"a": 2.0, "b": []}]
    assert [row["pairs"] for row in rows] == [[["k", None]], None, []]
    assert [row["runs"] for row in rows] == [None, None, 3.0]
    cells = pa.csv.read_csv(io.BytesIO(written(CsvWriter, table)))["deep"].to_pylist()
    assert json.loads(cells[0], parse_constant=endless) == {"a": None, "b": [None, 1.0]}


def test_csv_of_runs_has_their_values():
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["x", "y"]))
    assert written(CsvWriter, pa.table({"runs": runs})) == b"runs\nx\nx\ny\n"


RUNS = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array(["x", "y"]))
INTERVALS = pa.array([pa.MonthDayNano([1, 2, 3]), None])
MOMENTS = pa.array([[10**17]] * 2, pa.list_(pa.int64(), 1)).cast(pa.list_(pa.timestamp("s"), 1))
EITHER = pa.UnionArray.from_dense(
    pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1.5]), pa.array(["a"])]
)


@pytest.mark.parametrize(
    ("ending", "column", "cure"),
    [
        (".csv", pa.array([b"\xff\xfe", b"ok"]), ".arrow"),
        (".csv", pa.array([b"\xff", b"ok"]).dictionary_encode(), ".arrow"),
        (".csv", INTERVALS, ".arrow"),
        (".csv", MOMENTS, ".arrow"),
        (".jsonl", MOMENTS, ".arrow"),
        (".parquet", INTERVALS, ".jsonl"),
        (".parquet", RUNS, ".jsonl"),
        (".arrow", EITHER, ".jsonl"),
    ],
)
def test_a_column_that_a_format_cannot_hold_is_named_with_the_cure(ending, column, cure):
    form = FORMATS[ending]
    table = pa.table({"fine": [1, 2], "odd": column, "last": ["a", "b"]})
    cured = rf'^column "odd" cannot be written \(.+\): leave it out, or write to a \{cure} file$'
    with pytest.raises(TableError, match=cured):
        written(form.writer, table)
    with pytest.raises(TableError, match=cured):  # as another process makes rows ready
        file = io.BytesIO()
        writer = form.writer(file)
        writer.settle(table.schema)
        writer.put(form.ready(table))
        writer.close()
    assert written(form.writer, table.drop_columns(["odd"]))
    other = FORMATS[cure]
    assert written(other.writer, pa.table({"odd": column}))


def test_columns_of_extension_types_go_to_parquet():
    table = pa.table({"id": pa.array([b"0123456789abcdef"] * 2, pa.uuid())})
    assert pq.read_table(io.BytesIO(written(parquet, table))).num_rows == 2


def test_parquet_keeps_a_dictionary_only_of_what_repeats():
    rows = range(1_000)
    table = pa.table(
        {
            "measured": [row + 0.1 for row in rows],
            "name.of": [f"kind {row % 3}" for row in rows],
            "nothing": pa.nulls(1_000),
            "coded": pa.array(["a", "b"] * 500).dictionary_encode(),
            "list": [[row] for row in rows],
        }
    )
    content = written(parquet, table.slice(0, 600), table.slice(600))
    found = pq.read_table(io.BytesIO(content))
    assert found.to_pydict() == table.to_pydict()
    group = pq.ParquetFile(io.BytesIO(content)).metadata.row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    repeating = {column.path_in_schema for column in columns if "RLE_DICTIONARY" in column.encodings}
    assert repeating >= {"name.of", "coded"}
    assert not repeating & {"measured", "list.list.element"}


@pytest.mark.parametrize("make", [parquet, arrow])
def test_no_rows_are_a_file_too(make):
    nothing = pa.table({"x": pa.array([], pa.float64()), "y": pa.array([], pa.string())})
    content = io.BytesIO(written(make, nothing))
    found = pq.read_table(content) if make is parquet else pa.ipc.open_file(content).read_all()
    assert found.schema.equals(nothing.schema)
    assert found.num_rows == 0


@pytest.mark.parametrize("make", [CsvWriter, parquet])
def test_types_and_columns_are_settled_by_the_first_table(make):
    first = pa.table({"x": [1], "y": [2]})
    assert written(make, first, pa.table({"y": [3.0], "x": [4.0]}))
    with pytest.raises(TableError, match="changes its type"):
        written(make, first, pa.table({"x": ["a"], "y": ["b"]}))
    with pytest.raises(TableError, match='column "z" appears only late'):
        written(make, first, first.append_column("z", [[1]]))
