"""Pieces of a file join to the whole, count their rows right, and survive the way to another process."""

import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gditd.tables import TableError, csv_pieces, iter_pieces, iter_tables
from gditd.tables.csv_pieces import CsvPiece
from gditd.tables.pieces import TablePiece

HEAD = b"a,b\n"
BODIES = {
    "plain": b"1,x\n2,y\n3,z\n",
    "no line end": b"1,x\n2,y\n3,z",
    "windows": b"1,x\r\n2,y\r\n3,z\r\n",
    "old mac": b"1,x\r2,y\r3,z\r",
    "blank lines": b"\n1,x\n\n\n2,y\n3,z\n\n",
    "blank lines of windows": b"\r\n1,x\r\n\r\n2,y\r\n3,z\r\n",
    "mixed line ends": b"1,x\r\n2,y\n3,z\r",
    "quotes": b'1,"x"\n2,"y\n\n,y"\n3,z\n',
    "gaps": b"1,\n,y\n,\n",
}


def write(tmp_path, data):
    (tmp_path / "t.csv").write_bytes(data)
    return tmp_path / "t.csv"


@pytest.mark.parametrize("block", [4, 7, 1 << 20])
@pytest.mark.parametrize("kind", BODIES)
def test_pieces_of_a_csv_join_to_the_whole(tmp_path, monkeypatch, kind, block):
    head = HEAD.replace(b"\n", b"\r\n" if "windows" in kind else b"\r" if kind == "old mac" else b"\n")
    path = write(tmp_path, head + BODIES[kind])
    expected = pa.csv.read_csv(
        path,
        parse_options=pa.csv.ParseOptions(newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(strings_can_be_null=True, column_types={"a": "string", "b": "string"}),
    )
    monkeypatch.setattr(csv_pieces, "_BLOCK_BYTES", block)
    for most_rows in (1, 2, 100):
        pieces = list(iter_pieces(path, most_rows))
        assert [piece.n_rows for piece in pieces] == [piece.table().num_rows for piece in pieces]
        assert all(piece.n_rows <= most_rows for piece in pieces)
        assert pa.concat_tables(piece.table() for piece in pieces).to_pylist() == expected.to_pylist()
    assert next(iter_tables(path)).to_pylist() == expected.to_pylist()


def test_lines_are_parsed_only_when_asked_for(tmp_path):
    path = write(tmp_path, HEAD + b"1,x\n" * 5 + b"only one\n" + b"1,x\n" * 5)
    pieces = list(iter_pieces(path, 4))
    assert all(isinstance(piece, CsvPiece) for piece in pieces)
    assert [(piece.n_rows, piece.rows_before) for piece in pieces] == [(4, 0), (4, 4), (3, 8)]
    assert sum(piece.n_bytes for piece in pieces) == path.stat().st_size - len(HEAD)
    with pytest.raises(TableError, match="row 6: 1 fields where the column names have 2"):
        pickle.loads(pickle.dumps(pieces[1])).table()
    with pytest.raises(TableError, match="row 6: 1 fields"):
        list(iter_tables(path, 4))


def test_a_quote_that_is_never_closed_is_read_once(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_pieces, "_BLOCK_BYTES", 1 << 12)
    path = write(tmp_path, HEAD + b'1,"x\n' + b"2,y\n" * 20_000)
    (piece,) = iter_pieces(path)
    assert piece.n_rows == 1


def test_a_header_may_be_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_pieces, "_BLOCK_BYTES", 1 << 10)
    names = [f"column {place}" for place in range(40_000)]
    path = write(tmp_path, ",".join(names).encode() + b"\n" + b",".join([b"1"] * 40_000) + b"\n")
    (piece,) = iter_pieces(path)
    assert piece.names == names
    assert piece.table().column_names == names


def test_other_formats_come_as_tables(tmp_path):
    pq.write_table(pa.table({"a": range(10)}), tmp_path / "t.parquet", row_group_size=4)
    pieces = list(iter_pieces(tmp_path / "t.parquet", 3))
    assert [piece.n_rows for piece in pieces] == [3, 3, 3, 1]
    assert all(isinstance(piece, TablePiece) for piece in pieces)


def test_a_slice_travels_without_the_rest_of_its_table():
    words = pa.array(["x" * 50, "y"] * 10_000).dictionary_encode()
    table = pa.table({"n": range(20_000), "text": ["text"] * 20_000, "word": words})
    sent = pickle.dumps(TablePiece(table.slice(500, 3), n_bytes=7))
    assert len(sent) < 3_000
    back = pickle.loads(sent)
    assert (back.n_rows, back.n_bytes, back.names) == (3, 7, ["n", "text", "word"])
    assert back.table().equals(table.slice(500, 3))
