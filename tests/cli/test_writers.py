import io
import json

import pyarrow as pa
import pyarrow.csv
import pytest

from gditd.cli.tasks.writers import CsvWriter, JsonLinesWriter, parquet
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


@pytest.mark.parametrize("make", [CsvWriter, parquet])
def test_types_and_columns_are_settled_by_the_first_table(make):
    first = pa.table({"x": [1], "y": [2]})
    assert written(make, first, pa.table({"y": [3.0], "x": [4.0]}))
    with pytest.raises(TableError, match="changes its type"):
        written(make, first, pa.table({"x": ["a"], "y": ["b"]}))
    with pytest.raises(TableError, match='column "z" appears only late'):
        written(make, first, first.append_column("z", [[1]]))
