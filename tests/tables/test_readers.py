import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from gditd.tables import TableError, iter_tables, read_table

TABLE = pa.table({"a": [1, 2, 3], "b": ["x", "ü", None], "c": [0.5, None, 2.5]})
CSV = "a,b,c\n1,x,0.5\n2,ü,\n3,,2.5\n"


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def stored(folder: Path, ending: str) -> Path:
    path = folder / f"table{ending}"
    if ending == ".parquet":
        pq.write_table(TABLE, path)
    elif ending == ".feather":
        pyarrow.feather.write_feather(TABLE, path)
    elif ending in (".arrow", ".stream.arrow"):
        new = pa.ipc.new_file if ending == ".arrow" else pa.ipc.new_stream
        with new(path, TABLE.schema) as sink:
            sink.write_table(TABLE, max_chunksize=2)
    elif "json" in ending:
        write(path, "\n".join(json.dumps(row) for row in TABLE.to_pylist()).encode())
    else:
        write(path, CSV.replace(",", "\t" if ".tsv" in ending else ",").encode())
    return path


ENDINGS = [".csv", ".tsv", ".txt", ".csv.gz", ".parquet", ".arrow", ".stream.arrow", ".feather"]
ENDINGS += [".jsonl", ".ndjson", ".jsonl.gz"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_reads_the_same_rows(tmp_path, ending):
    path = stored(tmp_path, ending)
    assert read_table(path).to_pylist() == TABLE.to_pylist()


@pytest.mark.parametrize("ending", ENDINGS)
def test_chunks_have_the_size_asked_for_and_join_to_the_whole(tmp_path, ending):
    chunks = list(iter_tables(stored(tmp_path, ending), chunk_rows=2))
    assert [chunk.num_rows for chunk in chunks] == [2, 1]
    assert all(chunk.column_names == ["a", "b", "c"] for chunk in chunks)
    rows = [row for chunk in chunks for row in chunk.to_pylist()]
    assert [float(row["a"]) for row in rows] == [1, 2, 3]
    assert [row["b"] for row in rows] == ["x", "ü", None]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_found(tmp_path, delimiter):
    text = delimiter.join(["a", "b, c; d"]) + "\n" + delimiter.join(["1", '"x,y;z|\t"']) + "\n"
    text = text.replace("b, c; d", '"b, c; d"')
    table = read_table(write(tmp_path / "t.csv", text.encode()))
    assert table.to_pylist() == [{"a": 1, "b, c; d": "x,y;z|\t"}]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"])
def test_encoding_is_found(tmp_path, encoding):
    path = write(tmp_path / "t.csv", "größe,b\nmäßig,1\n".encode(encoding))
    assert read_table(path).to_pylist() == [{"größe": "mäßig", "b": 1}]
    assert next(iter_tables(path)).to_pylist() == [{"größe": "mäßig", "b": "1"}]


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
def test_encoding_may_show_only_late_in_the_file(tmp_path, encoding):
    text = "a,b\n" + "plain,1\n" * 200_000 + "mäßig,2\n"
    path = write(tmp_path / "t.csv.gz", text.encode(encoding))
    assert read_table(path)["a"][-1].as_py() == "mäßig"


def test_mixed_encodings_are_an_error_that_names_the_cure(tmp_path):
    data = "ä,b\n".encode() + b"x,1\n" * 200_000 + "ä".encode("latin-1") + b",1\n"
    with pytest.raises(TableError, match=r"save it as UTF-8"):
        read_table(write(tmp_path / "t.csv", data))


def test_decimal_commas(tmp_path):
    path = write(tmp_path / "t.csv", b"a;b\n1,5;x\n-2,25;y, z\n")
    assert read_table(path)["a"].to_pylist() == [1.5, -2.25]
    assert next(iter_tables(path)).to_pylist() == [{"a": "1,5", "b": "x"}, {"a": "-2,25", "b": "y, z"}]


def test_line_breaks_inside_quotes(tmp_path):
    path = write(tmp_path / "t.csv", b'"a\nb",c\n"x\ny",1\n')
    assert read_table(path).to_pylist() == [{"a\nb": "x\ny", "c": 1}]
    assert next(iter_tables(path)).to_pylist() == [{"a\nb": "x\ny", "c": "1"}]


def test_a_type_that_changes_late_in_a_csv(tmp_path):
    rows = [str(i) for i in range(400_000)] + ["2.5", "text"]
    path = write(tmp_path / "t.csv", ("a,b\n" + "".join(f"{row},1\n" for row in rows)).encode())
    assert read_table(path)["a"][-1].as_py() == "text"
    chunks = list(iter_tables(path, chunk_rows=100_000))
    assert {chunk.schema.field("a").type for chunk in chunks} == {pa.string()}
    assert sum(chunk.num_rows for chunk in chunks) == len(rows)


def test_json_lines_of_mixed_types_become_text(tmp_path):
    path = write(tmp_path / "t.jsonl", b'{"a": 1}\n\n{"a": "x", "b": true}\n')
    assert read_table(path).to_pylist() == [{"a": "1", "b": None}, {"a": "x", "b": True}]


def test_json_chunks_keep_the_first_chunks_columns(tmp_path):
    path = write(tmp_path / "t.jsonl", b'{"a": 1, "b": 2}\n{"a": 3}\n')
    assert [chunk.to_pylist() for chunk in iter_tables(path, 1)] == [[{"a": 1, "b": 2}], [{"a": 3, "b": None}]]


def test_dates_in_json_lines_are_texts_in_every_chunk(tmp_path):
    rows = [{"n": 1, "day": "2024-01-01"}, {"n": 2, "day": "2024-02-01T10:00:00Z"}, {"n": 3, "day": "never"}]
    path = write(tmp_path / "t.jsonl", "\n".join(map(json.dumps, rows)).encode())
    for chunk_rows in (1, 2, 3):
        assert [row for chunk in iter_tables(path, chunk_rows) for row in chunk.to_pylist()] == rows
    assert read_table(path).to_pylist() == rows
    path = write(tmp_path / "t.jsonl", "\n".join(map(json.dumps, rows[:2])).encode())
    assert read_table(path).schema.field("day").type == pa.string()
    assert read_table(path).column_names == ["n", "day"]


def test_a_file_without_rows_still_has_columns(tmp_path):
    path = write(tmp_path / "t.csv", b"a,b\n")
    assert read_table(path).num_rows == 0
    assert [chunk.column_names for chunk in iter_tables(path)] == [["a", "b"]]


def test_chunks_are_read_one_at_a_time(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n" + "1\n" * 3_000_000)
    before = pa.total_allocated_bytes()
    chunks = iter_tables(path, 1_000)
    for _ in range(3):
        next(chunks)
        assert pa.total_allocated_bytes() - before < 40e6


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.jsonl", b"", "is empty"),
        ("t.jsonl", b'{"a": 1}\n{"a": \n', "row 2: not valid JSON"),
        ("t.jsonl", b'{"a": 1}\n[1]\n', "row 2: not a JSON object"),
        ("t.xlsx", b"x", r"does not tell its format.*\.csv"),
        ("table", b"x", "does not tell its format"),
        ("t.parquet", b"no parquet here", "cannot be read as Parquet"),
        ("t.parquet", b"", "cannot be read as Parquet"),
        ("t.arrow", b"no arrow here at all", "cannot be read as Arrow"),
        ("t.feather", b"", "cannot be read as Arrow"),
        ("t.csv", b"a,b\n1,2\n3\n5,6\n", "row 2: 1 fields where the column names have 2"),
        ("t.csv", b"a,b,a\n1,2,3\n", 'more than one column named "a"'),
    ],
)
def test_errors_name_the_file_and_the_place(tmp_path, name, data, message):
    path = write(tmp_path / name, data)
    for read in (read_table, lambda p: list(iter_tables(p))):
        with pytest.raises(TableError, match=message) as caught:
            read(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_late_ragged_row_is_counted_from_the_start(tmp_path):
    path = write(tmp_path / "t.csv", b"a,b\n" + b"1,2\n" * 500_000 + b"3\n")
    for read in (read_table, lambda p: list(iter_tables(p))):
        with pytest.raises(TableError, match="row 500001"):
            read(path)


def test_cut_gzip(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(np.random.default_rng(0).bytes(1000).hex().encode())[:-20])
    with pytest.raises(TableError, match="not a whole gzip file"):
        read_table(path)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(TableError, match=r'no file ".*gone\.csv"'):
        read_table(tmp_path / "gone.csv")
    with pytest.raises(TableError, match="no file"):
        list(iter_tables(tmp_path / "gone.parquet"))
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableError, match=r"folder\.csv"):
        read_table(tmp_path / "folder.csv")


def test_chunk_rows_must_be_positive(tmp_path):
    with pytest.raises(ValueError, match="at least 1"):
        iter_tables(tmp_path / "t.csv", 0)
