"""Bodies for the service: good ones in every format, damaged ones, and small ones that unpack to any size."""

from __future__ import annotations

import base64
import gzip
import io
import json
import struct
from functools import cache
from typing import Any

import flatbuffers
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from tests.robustness.model_bytes import table

JSON = "application/json"
CSV = "text/csv"
PARQUET = "application/vnd.apache.parquet"
STREAM = "application/vnd.apache.arrow.stream"
FILE = "application/vnd.apache.arrow.file"
TYPES = (JSON, CSV, PARQUET, STREAM, FILE)

ROWS = 200_000  # the most that the service takes unless told otherwise


def frame(n_rows: int) -> pd.DataFrame:
    """Rows that a model knows."""
    return table()[0].sample(n_rows, replace=n_rows > len(table()[0]), random_state=0).reset_index(drop=True)


def json_body(rows: list[dict[str, Any]]) -> bytes:
    return json.dumps({"rows": rows}).encode()


def parquet(rows: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(rows, file, **options)
    return file.getvalue()


def stream(rows: pa.Table, compression: str | None = None) -> bytes:
    file = io.BytesIO()
    with pa.ipc.new_stream(file, rows.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(rows)
    return file.getvalue()


def arrow_file(rows: pa.Table) -> bytes:
    file = io.BytesIO()
    with pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)
    return file.getvalue()


@cache
def good(kind: str, n_rows: int = 8) -> bytes:
    """A body that the model can judge."""
    rows = frame(n_rows)
    if kind == JSON:
        return json_body(json.loads(rows.to_json(orient="records", date_format="iso")))
    if kind == CSV:
        return rows.to_csv(index=False).encode()
    arrow = pa.Table.from_pandas(rows, preserve_index=False)
    return {PARQUET: parquet, STREAM: stream, FILE: arrow_file}[kind](arrow)


@cache
def packed_variants(kind: str) -> tuple[bytes, ...]:
    """The same rows, written in other ways that a parser treats differently."""
    arrow = pa.Table.from_pandas(frame(40), preserve_index=False)
    region = arrow.column_names.index("region")
    coded = arrow.set_column(region, "region", arrow["region"].dictionary_encode())
    if kind == PARQUET:
        ways: list[dict[str, Any]] = [{}, {"compression": "zstd"}, {"data_page_version": "2.0"}]
        ways += [{"use_dictionary": False}, {"row_group_size": 7}, {"store_schema": False}]
        return tuple(parquet(arrow, **way) for way in ways)
    if kind == STREAM:
        return stream(arrow), stream(arrow, "zstd"), stream(arrow, "lz4"), stream(coded), stream(coded, "zstd")
    return (good(kind, 40),)


LYING_NUMBERS = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF]


@st.composite
def damaged(draw: st.DrawFn, kind: str) -> bytes:
    """A body with flipped bits, numbers that lie, parts cut out, put in or repeated, or cut short."""
    content = bytearray(draw(st.sampled_from(packed_variants(kind))))
    for _ in range(draw(st.integers(1, 4))):
        # Footers and headers are where binary formats say what is where.
        place = draw(st.integers(0, len(content) - 1) | st.integers(max(0, len(content) - 400), len(content) - 1))
        way = draw(st.sampled_from(["flip", "flip", "number", "number", "cut out", "put in", "repeat", "cut short"]))
        if way == "flip":
            content[place] ^= 1 << draw(st.integers(0, 7))
        elif way == "number":
            content[place : place + 4] = struct.pack("<I", draw(st.sampled_from(LYING_NUMBERS)))
        elif way == "cut out":
            del content[place : place + draw(st.integers(1, 64))]
        elif way == "put in":
            content[place:place] = draw(st.binary(min_size=1, max_size=16))
        elif way == "repeat":
            content[place:place] = content[place : place + draw(st.integers(1, 200))]
        else:
            del content[place:]
        if not content:
            return b""
    return bytes(content)


# --- bombs ---


@cache
def gzip_bomb(size: int) -> bytes:
    return gzip.compress(bytes(size), mtime=0)


def many_gzip_files(count: int) -> bytes:
    return gzip.compress(b"", mtime=0) * count


def zigzag(number: int, width: int = 0) -> bytes:
    """A number as Thrift writes it, in more bytes than it needs where `width` says so."""
    number = 2 * number if number >= 0 else -2 * number - 1
    groups = [number & 127]
    while number := number >> 7:
        groups.append(number & 127)
    groups += [0] * (width - len(groups))
    return bytes([*(group | 128 for group in groups[:-1]), groups[-1]])


def lying_footer(body: bytes) -> bytes:
    """A Parquet file whose footer says that it holds next to nothing."""
    (size,) = struct.unpack("<I", body[-8:-4])
    pages, footer = body[: -8 - size], body[-8 - size :]
    metadata = pq.ParquetFile(io.BytesIO(body)).metadata
    claims = {
        metadata.row_group(0).total_byte_size,
        *(metadata.row_group(0).column(place).total_uncompressed_size for place in range(metadata.num_columns)),
    }
    for claim in claims:
        true = zigzag(claim)
        assert true in footer
        footer = footer.replace(true, zigzag(1, len(true)))
    return pages + footer


@cache
def parquet_bombs() -> dict[str, bytes]:
    """Small Parquet files that unpack to many times their size, by how they do it."""
    texts = ["x" * 5_000] * 10_000
    delta = {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY"}}
    as_json = pa.ExtensionArray.from_storage(pa.json_(), pa.array([f'"{text}"' for text in texts]))
    return {
        "one row, many values": parquet(pa.table({"a": pa.array([np.zeros(5_000_000)])})),
        "many columns of one value": parquet(pa.table({f"c{place}": np.zeros(ROWS) for place in range(100)})),
        "wide values": parquet(pa.table({"a": pa.array([bytes(5_000)] * 10_000, pa.binary(5_000))})),
        "one text for all rows": parquet(pa.table({"a": texts})),
        "one large text for all rows": parquet(pa.table({"a": pa.array(texts, pa.large_string())})),
        "one text view for all rows": parquet(pa.table({"a": pa.array(texts, pa.string_view())})),
        "one text within objects": parquet(pa.table({"a": [{"b": text} for text in texts]})),
        "one text of a type made up": parquet(pa.table({"a": as_json}), store_schema=False),
        "pages larger than the footer says": lying_footer(
            parquet(pa.table({"a": texts}), use_dictionary=False, compression="zstd")
        ),
        "texts that start alike": parquet(
            pa.table({"a": [f"{text}{row}" for row, text in enumerate(texts)]}), compression="zstd", **delta
        ),
        "a schema that repeats itself": with_schema(endless_schema()),
    }


def with_schema(schema: bytes) -> bytes:
    """A Parquet file with this as Arrow's own schema, which Arrow does not write if it is asked to."""
    rows, file = pa.table({"a": [1]}), io.BytesIO()
    with pq.ParquetWriter(file, rows.schema, store_schema=False) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata({"XRROW:schema": base64.b64encode(schema)})
    body = file.getvalue()
    assert body.count(b"XRROW:schema") == 1
    return body.replace(b"XRROW:schema", b"ARROW:schema")


def endless_schema(length: int = 100_000, times: int = 20_000) -> bytes:
    """The start of an Arrow stream: a schema whose metadata is one long text, referred to again and again."""
    builder = flatbuffers.Builder(0)
    text = builder.CreateString("x" * length)
    builder.StartObject(2)
    for slot in range(2):
        builder.PrependUOffsetTRelativeSlot(slot, text, 0)
    pair = builder.EndObject()
    builder.StartVector(4, times, 4)
    for _ in range(times):
        builder.PrependUOffsetTRelative(pair)
    pairs = builder.EndVector()
    builder.StartVector(4, 0, 4)
    fields = builder.EndVector()
    builder.StartObject(4)
    builder.PrependUOffsetTRelativeSlot(1, fields, 0)
    builder.PrependUOffsetTRelativeSlot(2, pairs, 0)
    schema = builder.EndObject()
    builder.StartObject(5)
    builder.PrependInt16Slot(0, 4, 0)  # the fifth version of the metadata
    builder.PrependUint8Slot(1, 1, 0)  # a schema
    builder.PrependUOffsetTRelativeSlot(2, schema, 0)
    builder.Finish(builder.EndObject())
    metadata = bytes(builder.Output())
    metadata += bytes(-len(metadata) % 8)
    return b"\xff\xff\xff\xff" + struct.pack("<i", len(metadata)) + metadata


def arrow_bombs() -> dict[str, bytes]:
    """Small Arrow streams that unpack to many times their size, by how they do it."""
    zeros = pa.array(np.zeros(ROWS, np.int8))
    ends = pa.RunEndEncodedArray.from_arrays(pa.array([ROWS], pa.int32()), ["x" * 100_000])
    nothing = pa.FixedSizeListArray.from_arrays(pa.nulls(10**9), 10**6)
    fixed = pa.DictionaryArray.from_arrays(zeros, pa.array([bytes(100_000)], pa.binary(100_000)))
    texts = pa.DictionaryArray.from_arrays(zeros, ["x" * 100_000])
    views = pa.py_buffer(struct.pack("<i4sii", 100_000, b"xxxx", 0, 0) * ROWS)
    view = pa.Array.from_buffers(pa.string_view(), ROWS, [None, views, pa.py_buffer(b"x" * 100_000)])
    return {
        "packed zeros": stream(pa.table({"a": np.zeros(10_000_000)}), "zstd"),
        "a text that rows share": stream(pa.table({"a": texts})),
        "wide values that rows share": stream(pa.table({"a": fixed})),
        "views of one text": stream(pa.table({"a": view})),
        "objects around a text that rows share": stream(pa.table({"a": pa.StructArray.from_arrays([texts], ["b"])})),
        "a run of one text": stream(pa.table({"a": ends})),
        "lists of nothing": stream(pa.table({"a": nothing})),
        "columns of nothing": stream(pa.table({f"c{place}": pa.nulls(ROWS) for place in range(5_000)})),
        "a schema that repeats itself": endless_schema() + b"\xff\xff\xff\xff\0\0\0\0",
    }


def json_bombs() -> dict[str, bytes]:
    """JSON that takes many times its size once it is read."""
    return {
        "rows without columns": b'{"rows":[' + b"{}," * 2_000_000 + b"{}]}",
        "lists in lists": b'{"rows":[' + b"[]," * 2_000_000 + b"[]]}",
        "columns in one row": json_body([{f"c{place}": 1 for place in range(200_000)}]),
        "columns of one row each": json_body([{f"{row} {place}": 1 for place in range(40)} for row in range(3_000)]),
    }


def csv_bombs() -> dict[str, bytes]:
    """CSV that takes many times its size once it is read, or for ever."""
    names = ",".join(f"c{place}" for place in range(50_000))
    return {
        "columns": f"{names}\n{'1,' * 49_999}1\n".encode(),
        "columns in UTF-16": f"{names}\n".encode("utf-16"),
        "columns behind a name of two lines": f'"a\nb",{names}\n1\n'.encode(),
        "a first line without end": b"a" * 3_000_000,
        "a quote without end": b'a,b\n1,"' + b"x\n" * 3_000_000,
        "a name without end": b'"' + b"x\n" * 3_000_000,
    }
