"""How large an Arrow table is once it is unpacked, found out before it is.

A few kilobytes of Arrow may hold compressed buffers, one text that all rows share, one buffer that all columns share, a
schema that names one part of itself a million times, and unpack to any size. Arrow itself would only notice when memory
runs out. What leads where stands in the messages' metadata, FlatBuffers of the layout in Arrow's format/*.fbs.
"""

from __future__ import annotations

import struct
from http import HTTPStatus

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gditd.serve.errors import Refusal

MOST_COLUMNS = 10_000
MOST_SCHEMA = 16_000_000  # bytes of names and remarks, each counted as often as it is referred to
MOST_REMARKS = 10_000
MOST_BATCHES = 10_000

_HEADER = 2  # fields of Message, by their place
_FIELDS, _REMARKS = 1, 2  # of Schema
_NAME, _TYPE_KIND, _TYPE, _CHILDREN, _FIELD_REMARKS = 0, 2, 3, 5, 6  # of Field
_TIMESTAMP, _ZONE = 10, 1  # a kind of type, and its field
_BUFFERS, _COMPRESSION = 2, 3  # of RecordBatch
_DICTIONARY_DATA = 1  # of DictionaryBatch, a RecordBatch
_CONTINUED = b"\xff\xff\xff\xff"


def stream_bytes(stream: pa.Buffer) -> int:
    """What all batches of an Arrow stream unpack to; its schema is checked on the way."""
    total = batches = 0
    for message in pa.ipc.MessageReader.open_stream(stream):
        if message.type == "schema":
            check_schema(bytes(message.metadata))
        elif message.type in ("dictionary", "record batch"):
            batches += 1
            if batches > MOST_BATCHES:
                raise Refusal(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    f"the Arrow stream has more than {MOST_BATCHES:,} batches: write larger ones",
                )
            total += batch_bytes(bytes(message.metadata), message.body, of_dictionary=message.type == "dictionary")
    return total


def first_metadata(stream: bytes) -> bytes:
    """The metadata of a stream's first message."""
    place = 8 if stream.startswith(_CONTINUED) else 4
    (size,) = struct.unpack_from("<i", stream, place - 4)
    return stream[place : place + max(size, 0)]


def check_schema(metadata: bytes) -> None:
    """Refuse too many columns, columns within columns, and more text than a schema can need."""
    schema = followed(metadata, field(metadata, followed(metadata, 0), _HEADER))
    fields = references(metadata, schema, _FIELDS)
    refuse_wide(len(fields))
    size = remarks_bytes(metadata, schema, _REMARKS)
    if size > MOST_SCHEMA:
        raise too_wordy()
    for place in fields:
        name = text_bytes(metadata, place, _NAME)
        if references(metadata, place, _CHILDREN):
            start = followed(metadata, field(metadata, place, _NAME)) + 4
            raise not_plain(metadata[start : start + name].decode(errors="replace"))
        size += name + remarks_bytes(metadata, place, _FIELD_REMARKS)
        kind = field(metadata, place, _TYPE_KIND)
        if kind and struct.unpack_from("<B", metadata, kind)[0] == _TIMESTAMP:
            size += text_bytes(metadata, followed(metadata, field(metadata, place, _TYPE)), _ZONE)
        if size > MOST_SCHEMA:
            raise too_wordy()


def remarks_bytes(data: bytes, table: int, place: int) -> int:
    """The length of all keys and values of a schema's or a column's custom metadata."""
    pairs = references(data, table, place)
    if len(pairs) > MOST_REMARKS:
        raise too_wordy()
    return sum(text_bytes(data, pair, 0) + text_bytes(data, pair, 1) for pair in pairs)


def references(data: bytes, table: int, place: int) -> list[int]:
    """Where the members of a vector of tables are."""
    found = field(data, table, place)
    if not found:
        return []
    start = followed(data, found)
    (count,) = struct.unpack_from("<I", data, start)
    if 4 * count > len(data):
        raise struct.error("a vector that is longer than the message")
    return [followed(data, start + 4 + 4 * member) for member in range(count)]


def text_bytes(data: bytes, table: int, place: int) -> int:
    """The length of a text in a table; 0 if it has none."""
    found = field(data, table, place)
    return int(struct.unpack_from("<I", data, followed(data, found))[0]) if found else 0


def refuse_wide(columns: int) -> None:
    """Refuse more columns than any model has."""
    if columns > MOST_COLUMNS:
        raise Refusal(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"there are more than {MOST_COLUMNS:,} columns, the most this service takes: leave some out",
        )


def too_wordy() -> Refusal:
    """The answer to a schema of too many words."""
    return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the table's names and metadata are too large: leave some out")


def not_plain(name: str) -> Refusal:
    """The answer to a column of lists, objects and other values within values."""
    return Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        f'column "{name}" holds lists, objects or values of a type made up from others: leave it out',
        column=name,
    )


def batch_bytes(metadata: bytes, body: pa.Buffer, *, of_dictionary: bool) -> int:
    """What one batch unpacks to; a buffer that several columns share counts for each."""
    batch = followed(metadata, field(metadata, followed(metadata, 0), _HEADER))
    if of_dictionary:
        batch = followed(metadata, field(metadata, batch, _DICTIONARY_DATA))
    found = field(metadata, batch, _BUFFERS)
    if not found:
        return 0
    start = followed(metadata, found)
    (count,) = struct.unpack_from("<I", metadata, start)
    if 16 * count > len(metadata):
        raise struct.error("a vector that is longer than the message")
    places = np.frombuffer(metadata, "<i8", 2 * count, start + 4).reshape(count, 2)
    compressed = bool(field(metadata, batch, _COMPRESSION))
    view = memoryview(body)
    total = 0
    for offset, length in places.tolist():
        if not 0 <= offset <= offset + length <= len(view):
            raise struct.error("a buffer that is not in the message")
        if compressed and length:
            (unpacked,) = struct.unpack_from("<q", view, offset)
            total += length if unpacked < 0 else unpacked  # -1 says that this one is not compressed
        else:
            total += length
    return total


def field(data: bytes, table: int, place: int) -> int:
    """Where a FlatBuffer table has a field; 0 if it has none."""
    (back,) = struct.unpack_from("<i", data, table)
    vtable = table - back
    (size,) = struct.unpack_from("<H", data, vtable)
    slot = 4 + 2 * place
    if slot >= size:
        return 0
    (offset,) = struct.unpack_from("<H", data, vtable + slot)
    return table + offset if offset else 0


def followed(data: bytes, place: int) -> int:
    """Where the reference at a place leads."""
    (offset,) = struct.unpack_from("<I", data, place)
    return place + int(offset)


def spelt_out_bytes(table: pa.Table) -> int:
    """The length of all texts that rows share, counted for each row."""
    total = 0
    for column in table.columns:
        for chunk in column.chunks:
            if pa.types.is_dictionary(chunk.type) and pa.types.is_fixed_size_binary(chunk.type.value_type):
                total += len(chunk) * int(chunk.type.value_type.byte_width)
            elif pa.types.is_dictionary(chunk.type) and is_textual(chunk.type.value_type):
                lengths = text_lengths(chunk.dictionary)
                rows = np.bincount(chunk.indices.drop_null().to_numpy().astype(np.int64), minlength=len(lengths))
                total += int(lengths @ rows)
            elif is_view(chunk.type):
                total += viewed_bytes(chunk)
    return total


def viewed_bytes(array: pa.Array) -> int:
    """The length of all texts of which an array has views."""
    return int(np.maximum(text_lengths(array), 0).sum())


def is_view(kind: pa.DataType) -> bool:
    """Whether arrays of this type refer to texts, maybe several times to one."""
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def refuse_made_up(schema: pa.Schema) -> None:
    """Refuse columns of values within values, which may unpack to any size."""
    for column in schema:
        if not is_plain(column.type):
            raise not_plain(column.name)


def is_plain(kind: pa.DataType) -> bool:
    """Whether values of this type are one thing each."""
    types = pa.types
    if types.is_dictionary(kind):
        return not types.is_dictionary(kind.value_type) and is_plain(kind.value_type)
    return bool(
        types.is_primitive(kind)
        or types.is_null(kind)
        or types.is_decimal(kind)
        or types.is_fixed_size_binary(kind)
        or is_textual(kind)
    )


def is_textual(kind: pa.DataType) -> bool:
    """Whether values of this type are texts or bytes of any length."""
    types = pa.types
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or is_view(kind)
    )


def text_lengths(array: pa.Array) -> np.typing.NDArray[np.int64]:
    """The length of each text in bytes; a view of 16 bytes starts with it."""
    if is_view(array.type):
        views = np.frombuffer(array.buffers()[1], "<i4", 4 * (array.offset + len(array))).reshape(-1, 4)
        return views[array.offset :, 0].astype(np.int64)
    lengths: np.typing.NDArray[np.int64] = pc.fill_null(pc.binary_length(array), 0).to_numpy().astype(np.int64)
    return lengths
