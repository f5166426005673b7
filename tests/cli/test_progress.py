"""How far the work is: never more than all of it."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from gditd.cli import progress
from gditd.cli.tasks import tables
from gditd.cli.tasks.tables import RowCount, pieces


def totals(path, monkeypatch, chunk_rows=50):
    """The rows read and the total thought of after each piece, and the total at the end."""
    monkeypatch.setattr(tables, "CHUNK_ROWS", chunk_rows)
    count = RowCount(path)
    seen = [(count.rows, count.total) for _ in count.counted(pieces(path))]
    return seen, count.total


def test_the_total_of_a_csv_gets_better_as_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"  # short rows first: they make the first guess too high
    path.write_text("a,b\n" + "1,2\n" * 200 + "1,a longer text\n" * 300)
    seen, total = totals(path, monkeypatch)
    assert total == 500
    assert all(rows <= guess for rows, guess in seen)
    errors = [abs(guess - 500) for _, guess in seen[1:]]
    assert errors[-1] < errors[0]


def test_more_rows_than_were_thought_of_make_the_total_grow(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,a longer text\n" * 300 + "1,2\n" * 2000)
    monkeypatch.setattr(tables, "SAMPLE_BYTES", 1_000)
    seen, total = totals(path, monkeypatch)
    assert tables.expected_rows(path) < 1000 < total == 2300
    assert all(rows <= guess for rows, guess in seen)


def test_a_parquet_file_says_how_many_rows_it_has(tmp_path, monkeypatch):
    pq.write_table(pa.table({"a": range(120)}), tmp_path / "t.parquet")
    assert totals(tmp_path / "t.parquet", monkeypatch) == ([(0, 120), (50, 120), (100, 120)], 120)


def test_what_is_compressed_has_no_total_before_its_end(tmp_path, monkeypatch):
    pa.csv.write_csv(pa.table({"a": range(120)}), pa.CompressedOutputStream(tmp_path / "t.csv.gz", "gzip"))
    seen, total = totals(tmp_path / "t.csv.gz", monkeypatch)
    assert {guess for _, guess in seen} == {None}
    assert total == 120


def test_the_bar_never_goes_beyond_its_end(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(progress, "err", lambda: Console(file=shown, force_terminal=True, width=100))
    with progress.bar("scoring", "rows", quiet=False) as report:
        report(50, 100)
        report(120, 100)
    assert "120 of 120 rows" in shown.getvalue()
    assert "of 100" not in shown.getvalue().split("120 of")[1]
