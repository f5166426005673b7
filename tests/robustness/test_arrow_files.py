"""Damaged Arrow files: refused, or read; in a process of their own, for before they were checked they killed it."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from gditd.tables import TableError, iter_tables, read_table
from gditd.tables.arrow_files import arrow_batches
from tests.robustness.model_bytes import table
from tests.robustness.test_table_files import FILES
from tests.robustness.torture import TORTURE

DAMAGE = """
import random, sys
from pathlib import Path
from gditd.tables import TableError, iter_tables, read_table
content, path, count = Path(sys.argv[1]).read_bytes(), Path(sys.argv[2]), int(sys.argv[3])
draw = random.Random(0)
outcomes = {"read": 0, "refused": 0}
for _ in range(count):
    damaged = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 4])):
        place = draw.randrange(len(damaged) - 4)
        if draw.random() < 0.5:
            damaged[place] ^= 1 << draw.randrange(8)
        else:
            damaged[place : place + 4] = bytes(draw.choices([0, 1, 127, 128, 255], k=4))
    path.write_bytes(damaged)
    try:
        for table in (read_table(path), *iter_tables(path, 7)):
            list(map(str, table.columns))
            table.take([0] * min(1, table.num_rows))
        outcomes["read"] += 1
    except TableError:
        outcomes["refused"] += 1
print(outcomes["read"] + outcomes["refused"])
"""


def test_damaged_files_do_not_kill_the_process(tmp_path: Path) -> None:
    (tmp_path / "whole.arrow").write_bytes(FILES["arrow"])
    count = 20_000 if TORTURE else 400
    done = subprocess.run(
        [sys.executable, "-c", DAMAGE, str(tmp_path / "whole.arrow"), str(tmp_path / "damaged.arrow"), str(count)],
        capture_output=True,
        text=True,
        timeout=3_000,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, str(count)), done.stderr


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_whole_files_and_streams_are_read(tmp_path: Path, kind: str) -> None:
    rows = pa.Table.from_pandas(table()[0].reset_index(drop=True))
    opened = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with opened(tmp_path / "t.arrow", rows.schema) as writer:
        writer.write_table(rows, max_chunksize=50)
    schema, batches = arrow_batches(tmp_path / "t.arrow")
    assert pa.Table.from_batches(list(batches), schema).equals(rows)


def damaged_offset(content: bytes) -> bytes:
    """The end of a text moved far beyond all texts."""
    offsets = struct.pack("<4i", 0, 3, 7, 9)
    place = content.index(offsets) + 8
    return content[:place] + struct.pack("<i", 2**31 - 16) + content[place + 4 :]


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_a_damaged_offset_is_refused_by_the_command(tmp_path: Path, kind: str) -> None:
    rows = pa.table({"amount": [1.0, 2, 3, 4], "word": ["abc", "defg", "hi", "jklmn"], "label": ["a", "b"] * 2})
    path = tmp_path / "t.feather"
    with (pa.ipc.new_file if kind == "file" else pa.ipc.new_stream)(path, rows.schema) as writer:
        writer.write_table(rows)
    path.write_bytes(damaged_offset(path.read_bytes()))
    done = subprocess.run(
        [sys.executable, "-m", "gditd.cli", "fit", str(path), "--target", "label", "--out", str(tmp_path / "m.gditd")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert f'"{path}" cannot be read as Arrow' in done.stderr
    assert list(tmp_path.iterdir()) == [path]


def test_the_first_feather_format_is_refused_with_the_cure(tmp_path: Path) -> None:
    """Arrow's reader of it crashes on damaged files before there is anything to check."""
    path = tmp_path / "t.feather"
    path.write_bytes(b"FEA1" + bytes(100) + b"FEA1")
    for read in (read_table, lambda path: list(iter_tables(path))):
        with pytest.raises(TableError, match=r"first Feather format.*write it again as Feather version 2"):
            read(path)
