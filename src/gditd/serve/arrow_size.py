"""How large an Arrow table is once it is unpacked, found out before it is.

A few kilobytes of Arrow may hold compressed buffers, one text that all rows share, or both, and unpack to any size.
Arrow itself would only notice when memory runs out. Compressed buffers start with their unpacked size; where they are
stands in the message's metadata, a FlatBuffer of the layout in Arrow's format/Message.fbs.
"""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_HEADER = 2  # fields of Message, by their place
_BUFFERS, _COMPRESSION = 2, 3  # of RecordBatch
_DICTIONARY_DATA = 1  # of DictionaryBatch, a RecordBatch


def stream_bytes(stream: pa.Buffer) -> int:
    """What all batches of an Arrow stream unpack to."""
    return sum(
        batch_bytes(bytes(message.metadata), message.body, of_dictionary=message.type == "dictionary")
        for message in pa.ipc.MessageReader.open_stream(stream)
        if message.type in ("dictionary", "record batch")
    )


def batch_bytes(metadata: bytes, body: pa.Buffer, *, of_dictionary: bool) -> int:
    """What one batch unpacks to."""
    batch = followed(metadata, field(metadata, followed(metadata, 0), _HEADER))
    if of_dictionary:
        batch = followed(metadata, field(metadata, batch, _DICTIONARY_DATA))
    if not field(metadata, batch, _COMPRESSION):
        return int(body.size)
    start = followed(metadata, field(metadata, batch, _BUFFERS))
    (count,) = struct.unpack_from("<I", metadata, start)
    places = np.frombuffer(metadata, "<i8", 2 * count, start + 4).reshape(count, 2)
    view = memoryview(body)
    total = 0
    for offset, length in places.tolist():
        if length:
            (unpacked,) = struct.unpack_from("<q", view, offset)
            total += length if unpacked < 0 else unpacked  # -1 says that this one is not compressed
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
            if pa.types.is_dictionary(chunk.type) and is_textual(chunk.type.value_type):
                lengths = text_lengths(chunk.dictionary)
                rows = np.bincount(chunk.indices.drop_null().to_numpy().astype(np.int64), minlength=len(lengths))
                total += int(lengths @ rows)
            elif pa.types.is_string_view(chunk.type) or pa.types.is_binary_view(chunk.type):
                total += int(text_lengths(chunk).sum())
    return total


def is_textual(kind: pa.DataType) -> bool:
    """Whether values of this type are texts or bytes of any length."""
    types = pa.types
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_string_view(kind)
        or types.is_binary_view(kind)
    )


def text_lengths(array: pa.Array) -> np.typing.NDArray[np.int64]:
    """The length of each text in bytes; a view of 16 bytes starts with it."""
    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        views = np.frombuffer(array.buffers()[1], "<i4").reshape(-1, 4)
        return views[array.offset : array.offset + len(array), 0].astype(np.int64)
    lengths: np.typing.NDArray[np.int64] = pc.fill_null(pc.binary_length(array), 0).to_numpy().astype(np.int64)
    return lengths
