"""How large a Parquet file is once it is unpacked, found out before it is.

The footer says so too, but whoever writes a file writes what he likes there, and Arrow takes memory by what the header
of each page says. These are Thrift structs in the compact protocol, laid out as in parquet.thrift. They are read here,
because a damaged description of a column ends the process where pyarrow is asked for it.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus

import pyarrow.parquet as pq

from gditd.serve.arrow_size import check_schema, first_metadata
from gditd.serve.errors import Refusal

MAGIC = b"PAR1"
MOST_FOOTER = 4_000_000  # bytes: Arrow takes many times as many to read them
MOST_PAGES = 50_000
OLD_WRITERS = 100  # bytes by which some of them told too little of a column

_TEXTS = "BYTE_ARRAY"
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8, _TEXTS: 8}
_SHARED_STARTS = 7  # DELTA_BYTE_ARRAY: each text is as much of the one before as it says, and a rest
# Arrow's own schema, in a footer as all known writers write it: a key, a value's length and the value.
_SCHEMA = re.compile(rb"ARROW:schema\x18([\x80-\xff]{0,3}[\x00-\x7f])")

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_SIZES = {_TRUE: 1, _FALSE: 1, _BYTE: 1, _DOUBLE: 8}
_DEEPEST = 16

Struct = dict[tuple[int, int], "int | Struct | list[Struct]"]


@dataclass(frozen=True)
class Chunk:
    """Where a column's pages of one row group are."""

    start: int
    end: int


def footer_of(body: bytes) -> Struct:
    """The footer, unless it would take much memory to read, or holds a schema of Arrow's that would."""
    if len(body) < 12 or not body.endswith(MAGIC):
        raise damaged()
    (size,) = struct.unpack_from("<I", body, len(body) - 8)
    if size > MOST_FOOTER:
        raise Refusal(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            "the Parquet file describes too many columns or row groups: send it in pieces",
        )
    if size > len(body) - 8:
        raise damaged()
    footer = body[len(body) - 8 - size : -8]
    check_own_schema(footer)
    try:
        return thrift(footer, 0)[0]
    except (IndexError, ValueError):
        raise damaged() from None


def check_own_schema(footer: bytes) -> None:
    """Refuse a schema of Arrow's, as it writes it into footers, that would take much memory to read."""
    found = list(_SCHEMA.finditer(footer))
    if footer.count(b"ARROW:schema") != len(found):
        raise damaged()
    for match in found:
        length, _ = varint(match[1], 0)
        try:
            schema = base64.b64decode(footer[match.end() : match.end() + length])
        except binascii.Error:
            raise damaged() from None
        check_schema(first_metadata(schema))


def unpacked_bytes(body: bytes, footer: Struct, file: pq.ParquetFile) -> int:
    """What all pages unpack to, or all rows where they are more: a value that repeats is stored but once."""
    columns = [file.schema.column(place) for place in range(file.metadata.num_columns)]
    groups = structs(footer, 4)
    if len(groups) * len(columns) > MOST_PAGES:
        raise too_many_pages()
    # Arrow must have understood the same: nobody may tell two stories in one footer.
    if len(groups) != file.metadata.num_row_groups or number(footer, 3) != file.metadata.num_rows:
        raise damaged()
    pages = paged = 0
    for group in groups:
        chunks = [chunk_of(chunk) for chunk in structs(group, 1)]
        if len(chunks) != len(columns):
            raise damaged()
        for column, chunk in zip(columns, chunks, strict=True):
            for size in page_sizes(body, chunk, column):
                pages += 1
                paged += size
                if pages > MOST_PAGES:
                    raise too_many_pages()
    widths = sum(_WIDTHS.get(column.physical_type) or max(column.length, 1) for column in columns)
    return max(paged, int(widths) * count_rows(footer))


def count_rows(footer: Struct) -> int:
    """The rows that a footer speaks of, in all or by row groups."""
    rows = [number(group, 3) for group in structs(footer, 4)]
    if any(count < 0 for count in rows):
        raise damaged()
    return max(number(footer, 3), sum(rows))


def chunk_of(column: Struct) -> Chunk:
    """Where a column's pages are, by its description."""
    described = column.get((3, _STRUCT))
    if not isinstance(described, dict):
        raise damaged()
    start, dictionary = number(described, 9), described.get((11, _I64))
    if isinstance(dictionary, int) and 0 < dictionary < start:
        start = dictionary
    return Chunk(start, start + number(described, 7))


def page_sizes(body: bytes, chunk: Chunk, column: pq.ColumnSchema) -> Iterator[int]:
    """What each page of a column unpacks to."""
    start, end = chunk.start, chunk.end
    if not 0 <= start <= end <= len(body):
        raise damaged()
    while start < end:
        try:
            header, start = thrift(body, start)
        except (IndexError, ValueError):
            if start >= end - OLD_WRITERS:
                return
            raise damaged() from None
        packed, unpacked = header.get((3, _I32)), header.get((2, _I32))
        if not isinstance(packed, int) or not isinstance(unpacked, int) or packed < 0 or unpacked < 0:
            raise damaged()
        if column.physical_type == _TEXTS and _SHARED_STARTS in (encoding(header, 5, 2), encoding(header, 8, 4)):
            raise Refusal(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                f'column "{column.name}" is written in the encoding DELTA_BYTE_ARRAY, of which nobody can tell how '
                "large it is: write it plain, or with a dictionary",
                column=column.name,
            )
        yield unpacked
        start += packed


def encoding(header: Struct, page: int, place: int) -> int | None:
    """The encoding in the part of a header that is about one type of pages."""
    part = header.get((page, _STRUCT))
    found = part.get((place, _I32)) if isinstance(part, dict) else None
    return found if isinstance(found, int) else None


def damaged() -> Refusal:
    """The answer to a file whose parts are not where it says."""
    return Refusal(HTTPStatus.BAD_REQUEST, "the body cannot be read as Parquet (it is damaged): write it again")


def too_many_pages() -> Refusal:
    """The answer to a file of crumbs."""
    return Refusal(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"the Parquet file has more than {MOST_PAGES:,} pages: write it in larger row groups",
    )


# --- Thrift ---


def structs(found: Struct, field: int) -> list[Struct]:
    """A field that is a list of structs; empty where there is none."""
    members = found.get((field, _LIST))
    return members if isinstance(members, list) else []


def number(found: Struct, field: int) -> int:
    """A field that is a large number, and must be there."""
    value = found.get((field, _I64))
    if not isinstance(value, int):
        raise damaged()
    return value


def thrift(data: bytes, place: int, depth: int = 0) -> tuple[Struct, int]:
    """The numbers of a struct, and the structs within it, by field and type, the last of each; and where it ends."""
    if depth > _DEEPEST:
        raise ValueError("too deep")
    found: Struct = {}
    field = 0
    while head := data[place]:
        place += 1
        kind, step = head & 15, head >> 4
        if step:
            field += step
        else:
            value, place = varint(data, place)
            field = signed(value, 16)
        if kind == _STRUCT:
            inner, place = thrift(data, place, depth + 1)
            before = found.get((field, kind))
            found[field, kind] = before | inner if isinstance(before, dict) else inner
        elif kind in (_I32, _I64):
            value, place = varint(data, place)
            found[field, kind] = signed(value, 32 if kind == _I32 else 64)
        elif kind == _LIST and data[place] & 15 == _STRUCT:
            members, place = thrift_list(data, place, depth + 1)
            found[field, kind] = members
        elif kind not in (_TRUE, _FALSE):  # which are the value themselves
            place = skipped(data, place, kind, depth + 1)
    return found, place + 1


def thrift_list(data: bytes, place: int, depth: int) -> tuple[list[Struct], int]:
    """A list of structs, and where it ends."""
    count = data[place] >> 4
    place += 1
    if count == 15:
        count, place = varint(data, place)
    if count > len(data) - place:
        raise ValueError("cut short")
    members: list[Struct] = []
    for _ in range(count):
        member, place = thrift(data, place, depth)
        members.append(member)
    return members, place


def skipped(data: bytes, place: int, kind: int, depth: int) -> int:
    """Where a value ends."""
    if kind in _SIZES:
        return place + _SIZES[kind]
    if kind in (_LIST, _SET):
        inner, count = data[place] & 15, data[place] >> 4
        place += 1
        if count == 15:
            count, place = varint(data, place)
        return all_skipped(data, place, [inner], count, depth)
    if kind == _STRUCT:
        return thrift(data, place, depth)[1]
    if kind not in (_I16, _I32, _I64, _BINARY, _MAP):
        raise ValueError("no such type")
    value, place = varint(data, place)
    if kind == _MAP and value:
        return all_skipped(data, place + 1, [data[place] >> 4, data[place] & 15], value, depth)
    return place + value if kind == _BINARY else place


def all_skipped(data: bytes, place: int, kinds: list[int], count: int, depth: int) -> int:
    """Where so many values, or pairs of them, end; each takes a byte at least."""
    if depth > _DEEPEST or count > len(data) - place:
        raise ValueError("too deep, or cut short")
    for _ in range(count):
        for kind in kinds:
            place = skipped(data, place, kind, depth + 1)
    return place


def varint(data: bytes, place: int) -> tuple[int, int]:
    """A number in groups of seven bits, and where it ends."""
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7
        if shift > 63:
            raise ValueError("no number is so long")


def signed(number: int, bits: int) -> int:
    """A zigzag number of so many bits; what is beyond them is lost, as it is in C++."""
    number &= (1 << max(bits, 32)) - 1
    value = (number >> 1) ^ -(number & 1)
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
