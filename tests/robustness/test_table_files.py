"""Table files of any content through the command line: an answer, or exit code 2 and one line; never half a file."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import invoke
from tests.robustness.model_bytes import model_bytes, table
from tests.robustness.torture import tries

pytestmark = pytest.mark.filterwarnings("ignore")

LONGEST_LINE = 4_000


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "model.gditd").write_bytes(model_bytes("fast"))
    return folder


def attempt(home: Path, *args: object, out: str) -> str | None:
    """Run a command that writes `out`; returns the error line, None where it went well."""
    before = {path.name for path in home.iterdir()} - {out}
    (home / out).unlink(missing_ok=True)
    result = invoke(*args, "--out", home / out)
    after = {path.name for path in home.iterdir()}
    if result.exit_code == 0:
        assert after == before | {out}
        return None
    assert result.exit_code == 2, f"{result.exit_code}: {result.stderr} {result.exception!r}"
    assert result.stdout == ""
    line = result.stderr
    assert line.startswith("error: "), line
    assert line.count("\n") == 1, line
    assert len(line) < LONGEST_LINE, line
    assert "Traceback" not in line
    assert after == before, "nothing is half-written"
    return line


def predict(home: Path, content: bytes, name: str = "new.csv", out: str = "verdicts.csv", *more: str) -> str | None:
    (home / name).write_bytes(content)
    try:
        return attempt(home, "predict", home / "model.gditd", home / name, "--quiet", *more, out=out)
    finally:
        (home / name).unlink()


def fit(home: Path, content: bytes, name: str = "train.csv") -> str | None:
    (home / name).write_bytes(content)
    try:
        return attempt(home, "fit", home / name, "--target", "label", "--preset", "fast", "--quiet", out="fitted.gditd")
    finally:
        (home / name).unlink()


def csv_bytes(rows: list[list[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", errors="surrogatepass")


def good_csv() -> bytes:
    return table()[0].head(8).to_csv(index=False).encode()


def training_csv() -> bytes:
    frame, labels = table()
    return frame.assign(label=labels).iloc[::5].to_csv(index=False).encode()


CELLS = st.one_of(
    st.sampled_from(
        [
            "",
            "1",
            "-2.5",
            "1e308",
            "-1e308",
            "1e999",
            "inf",
            "-inf",
            "nan",
            "NA",
            "null",
            "true",
            "False",
            "north",
            "moon",
        ]
    ),
    st.sampled_from(
        ["2024-02-30", "2024-02-03", "99999-01-01", "0000-01-01", "2024-01-01T25:00", "12:00", " ", "\t1", "'"]
    ),
    st.sampled_from(
        ['"', "a\nb", "a,b", "\0", "\u202e", "😀", "=1+1", "x" * 2_000, "١٢", "1_000", "0x10", "1,5", "\ufeff"]
    ),
    st.text(max_size=6),
)
NAMES = list(table()[0].columns)


class TestPredict:
    @tries(25, 2_000)
    @given(rows=st.lists(st.lists(CELLS, min_size=len(NAMES), max_size=len(NAMES)), max_size=6), ood=st.booleans())
    def test_any_cells(self, home: Path, rows: list[list[str]], ood: bool) -> None:
        more = ("--on-error", "ood", "--explain", "2") if ood else ()
        predict(home, csv_bytes([NAMES, *rows]), "new.csv", "verdicts.csv", *more)

    @tries(15, 2_000)
    @given(rows=st.lists(st.lists(CELLS, max_size=7), max_size=6))
    def test_any_header_and_ragged_rows(self, home: Path, rows: list[list[str]]) -> None:
        predict(home, csv_bytes(rows))

    @tries(15, 2_000)
    @given(
        content=st.binary(max_size=400), ending=st.sampled_from(["csv", "csv.gz", "jsonl", "parquet", "arrow", "tsv"])
    )
    def test_any_bytes(self, home: Path, content: bytes, ending: str) -> None:
        predict(home, content, f"new.{ending}")

    @tries(25, 3_000)
    @given(
        place=st.floats(0, 1, exclude_max=True),
        by=st.binary(max_size=8),
        ending=st.sampled_from(["csv", "csv.gz", "jsonl", "parquet", "arrow"]),
    )
    def test_files_with_a_damaged_place(self, home: Path, place: float, by: bytes, ending: str) -> None:
        content = FILES[ending]
        start = int(place * len(content))
        predict(home, content[:start] + by + content[start + len(by) :], f"new.{ending}", "verdicts.jsonl")

    @tries(15, 1_000)
    @given(share=st.floats(0, 1), ending=st.sampled_from(["csv", "csv.gz", "jsonl", "parquet", "arrow"]))
    def test_files_cut_short(self, home: Path, share: float, ending: str) -> None:
        content = FILES[ending]
        predict(home, content[: int(share * len(content))], f"new.{ending}", "verdicts.parquet")

    @tries(20, 2_000)
    @given(
        rows=st.lists(st.dictionaries(st.sampled_from([*NAMES, "", "😀"]), st.from_type(object) | CELLS), max_size=5)
    )
    def test_any_json(self, home: Path, rows: list[dict[str, Any]]) -> None:
        lines = [json.dumps(row, default=str, ensure_ascii=True) for row in rows]
        predict(home, "\n".join(lines).encode(), "new.jsonl", "verdicts.jsonl")

    @pytest.mark.parametrize("depth", [10, 60, 300, 900, 5_000, 100_000])
    @pytest.mark.parametrize("marks", [("[", "]"), ('{"amount":', "}")])
    @pytest.mark.parametrize("whole", [True, False])
    def test_deep_json(self, home: Path, depth: int, marks: tuple[str, str], whole: bool) -> None:
        """It was a RecursionError."""
        value = marks[0] * depth + "1" + (marks[1] * depth if whole else "")
        for line in (value, f'{{"amount": {value}, "region": {value}}}'):
            assert predict(home, line.encode(), "new.jsonl") is not None

    def test_long_json(self, home: Path) -> None:
        assert predict(home, b'{"amount": ' + b"9" * 50_000 + b"}", "new.jsonl") is not None

    @pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
    def test_dates_that_python_does_not_have(self, home: Path, ending: str) -> None:
        """Rows with a date in the year 148,107 had a verdict, and none could be written as JSON."""
        far = pa.array([0, 2**62], pa.int64()).view(pa.timestamp("us"))
        seen = pa.StructArray.from_arrays([far], ["at"])
        rows = pa.Table.from_pandas(table()[0].head(2)).append_column("seen", seen)
        rows = rows.append_column("often", pa.ListArray.from_arrays([0, 1, 2], far)).append_column("once", far)
        body = io.BytesIO()
        pq.write_table(rows, body)
        assert predict(home, body.getvalue(), "new.parquet", f"verdicts.{ending}") is None
        (home / f"verdicts.{ending}").unlink()

    @pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "jsonl.gz", "parquet", "arrow", "feather"])
    def test_every_format_out(self, home: Path, ending: str) -> None:
        assert predict(home, good_csv(), "new.csv", f"verdicts.{ending}") is None
        (home / f"verdicts.{ending}").unlink()


def in_every_format() -> dict[str, bytes]:
    frame = table()[0].head(40)
    arrow = pa.Table.from_pandas(frame)
    parquet, ipc = io.BytesIO(), io.BytesIO()
    pq.write_table(arrow, parquet)
    with pa.ipc.new_file(ipc, arrow.schema) as writer:
        writer.write_table(arrow)
    text = frame.to_csv(index=False).encode()
    lines = frame.to_json(orient="records", lines=True, date_format="iso").encode()
    return {
        "csv": text,
        "csv.gz": gzip.compress(text, mtime=0),
        "jsonl": lines,
        "parquet": parquet.getvalue(),
        "arrow": ipc.getvalue(),
    }


FILES = in_every_format()


class TestFit:
    @tries(10, 400)
    @given(
        names=st.lists(CELLS, min_size=3, max_size=3),
        rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=5),
        labels=st.lists(CELLS, min_size=1, max_size=3),
    )
    def test_any_table(self, home: Path, names: list[str], rows: list[list[str]], labels: list[str]) -> None:
        body = [[*rows[i % len(rows)], labels[i % len(labels)]] for i in range(30)]
        fit(home, csv_bytes([[*names, "label"], *body]))

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\n\n\n",
            b"label\n",
            b"label\na\nb\n",
            b"x,label\n",
            b"x,label\n1,a\n",
            b"x,label\n1,a\n2,b\n",
            b"x,x,label\n1,2,a\n3,4,b\n",
            b",label\n1,a\n2,b\n3,a\n4,b\n",
            b"x,label\n" + b"1,a\n" * 30,
            b"x,label\n" + b"".join(b"%d,a\n" % i for i in range(30)),
            b"x,label\n" + b"".join(b"%d,\n" % i for i in range(30)),
            b"x,label\n" + b"".join(b"%d,%s\n" % (i, b"a" if i % 3 else b"") for i in range(30)),
            b"x,label\n" + b"".join(b"%d,%d.0\n" % (i, i % 2) for i in range(30)),
            b"x,label\n" + b"".join(b"%d,%d.5\n" % (i, i % 2) for i in range(30)),
            b"x,label\n" + b"".join(b"%d, a b \n" % i for i in range(30)),
            b"x,label\n" + b"".join(b"%d,%s\n" % (i, b" a" if i % 2 else b"a ") for i in range(30)),
            b"x,label\n" + b"".join(b"1e308,%s\n" % (b"a" if i % 2 else b"b") for i in range(30)),
            b"x,label\n"
            + b"".join(b"%se308,%s\n" % (b"-1" if i % 3 else b"1", b"a" if i % 2 else b"b") for i in range(30)),
            b"x,label\n" + b"".join(b"99999-01-%02d,%s\n" % (i % 28 + 1, b"a" if i % 2 else b"b") for i in range(30)),
            b"x,label\n" + b"".join(b"inf,%s\n" % (b"a" if i % 2 else b"b") for i in range(30)),
            b"x,label\n" + b"".join(b"%d,OOD\n" % i for i in range(30)),
            b"x;label\n" + b"".join(b"%d,5;%s\n" % (i, b"a" if i % 2 else b"b") for i in range(30)),
            "ü,label\n".encode("cp1252") + b"".join(b"%d,%s\n" % (i, b"\xe4" if i % 2 else b"b") for i in range(30)),
            ("x,label\n" + "".join(f"{i},{'a' if i % 2 else 'b'}\n" for i in range(30))).encode("utf-16"),
            b"\xff\xfe\x00",
            b'"x,label\n1,a\n',
        ],
        ids=lambda content: repr(content[:40]),
    )
    def test_odd_tables(self, home: Path, content: bytes) -> None:
        fit(home, content)

    def test_a_training_table_with_a_damaged_place(self, home: Path) -> None:
        content = training_csv()
        for place in range(0, len(content), len(content) // 6):
            fit(home, content[:place] + b'"' + content[place + 1 :])


def test_verdicts_on_good_rows_are_given(home: Path) -> None:
    """What is tested here could also pass by refusing everything."""
    assert predict(home, good_csv()) is None
    verdicts = pd.read_csv(home / "verdicts.csv")
    assert len(verdicts) == 8
