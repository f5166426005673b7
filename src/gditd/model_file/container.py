"""The bytes of a model file: what is in it, within limits that are checked before anything is allocated."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError
from safetensors import torch as safetensors
from torch import Tensor

from gditd.model_file.errors import ModelFileError, first_line
from gditd.model_file.seal import LENGTH_BYTES, NO_CHECKSUM, UNSIGNED, Bytes, check_seal, has_seal, seal

FORMAT: Final = "gditd-model"
VERSION: Final = 7
"""One more whenever what a file holds changes its meaning. Earlier ones were never released, and are not read."""

MEBIBYTE: Final = 1 << 20
LARGEST_FILE: Final = 8192 * MEBIBYTE
LARGEST_HEADER: Final = 32 * MEBIBYTE
"""JSON takes many times its size in memory, so a header of gigabytes would be too much even if the file is not."""

ALIGNMENT: Final = 8  # tensors start where any number may lie


def pack(document: Mapping[str, Any], tensors: dict[str, Tensor], form: str = FORMAT) -> bytearray:
    """Put a document and tensors into one sealed file without a signature."""
    return packed({"format": form, "version": str(VERSION), "document": json.dumps(document)}, tensors)


def packed(metadata: Mapping[str, str], tensors: dict[str, Tensor]) -> bytearray:
    """Seal any metadata and tensors; the same contents give the same bytes."""
    plain = safetensors.save(tensors)
    end = LENGTH_BYTES + header_length(plain)
    entries = json.loads(plain[LENGTH_BYTES:end])
    slots = {"sha256": NO_CHECKSUM, "signature": UNSIGNED}
    header = json.dumps({"__metadata__": {**slots, **metadata}, **entries}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % ALIGNMENT)
    size = LENGTH_BYTES + len(header) + len(plain) - end
    if len(header) > LARGEST_HEADER:
        raise ModelFileError(
            f"cannot save the model: its categories and column names take {in_mb(len(header))}, and a model file holds "
            f"up to {in_mb(LARGEST_HEADER)} of them; leave out the columns with the most categories"
        )
    if size > LARGEST_FILE:
        raise ModelFileError(f"cannot save the model: it takes {in_mb(size)}, and the limit is {in_mb(LARGEST_FILE)}")
    data = bytearray(struct.pack("<Q", len(header)) + header)
    data += memoryview(plain)[end:]
    seal(data)
    return data


def read_bytes(path: Path) -> bytes:
    """Read a file that is no larger than a model may be, and whose header has the length it says."""
    if path.is_dir():
        raise ModelFileError("it is a folder: give the name of a model file in it")
    if not path.is_file():
        raise ModelFileError("there is no such file")
    with path.open("rb") as file:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise ModelFileError(f"it has {in_mb(size)}, and a model has up to {in_mb(LARGEST_FILE)}")
        head = file.read(LENGTH_BYTES)
        if len(head) < LENGTH_BYTES:
            raise ModelFileError("it is not a gditd model, or it is cut short (there is no header)")
        length = header_length(head)
        if length > size - LENGTH_BYTES:
            raise ModelFileError("it is not a gditd model, or it is cut short (the header is not all there)")
        if length > LARGEST_HEADER:
            raise ModelFileError(f"its header has {in_mb(length)}, and a model's has up to {in_mb(LARGEST_HEADER)}")
        file.seek(0)
        return file.read(size)  # no more than was checked, should the file grow meanwhile


def unpack(data: Bytes, form: str = FORMAT) -> tuple[Any, dict[str, Tensor]]:
    """Return a file's document and tensors, once format, version and checksum are known to fit."""
    metadata = checked_metadata(data, form)
    try:
        # The tensors are copies, and the library has compared all sizes with what is there before it makes any.
        tensors = safetensors.load(bytes(data))
    except SafetensorError as error:
        raise ModelFileError(f"its tensors do not fit its size ({first_line(error)})") from error
    try:
        return json.loads(metadata["document"]), tensors
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"its document cannot be read ({first_line(error)})") from error


def checked_metadata(data: Bytes, form: str = FORMAT) -> dict[str, Any]:
    """Return the texts in the header; ModelFileError where format, version or checksum do not fit."""
    metadata = metadata_of(data)
    if metadata.get("format") != form:
        raise ModelFileError(f"it is not a {form.replace('-', ' ')}")
    check_version(metadata.get("version"))
    if not has_seal(data):
        raise ModelFileError("it is damaged: its checksum is missing")
    check_seal(data)
    return metadata


def metadata_of(data: Bytes) -> dict[str, Any]:
    """The texts in the header of a safetensors file."""
    try:
        header = json.loads(data[LENGTH_BYTES : LENGTH_BYTES + header_length(data)])
        metadata = header.get("__metadata__", {})
    except (ValueError, RecursionError, AttributeError) as error:
        raise ModelFileError("it is not a gditd model, or it is damaged (the header cannot be read)") from error
    return metadata if isinstance(metadata, dict) else {}


def check_version(version: object) -> None:
    """Refuse files of a format newer or older than this program reads."""
    if not isinstance(version, str) or not (version.isascii() and version.isdecimal()) or len(version) > 9:
        raise ModelFileError("its version is missing")
    if int(version) > VERSION:
        raise ModelFileError(
            f"it was written by a newer gditd (format {version}, this one reads format {VERSION}): upgrade gditd"
        )
    if int(version) < VERSION:
        raise ModelFileError(
            f"it was written by an older gditd (format {version}, this one reads format {VERSION}): fit the model anew"
        )


def header_length(data: Bytes) -> int:
    """How many bytes the header has, as the file says."""
    length: int = struct.unpack("<Q", data[:LENGTH_BYTES])[0]
    return length


def in_mb(size: int) -> str:
    """A size for people."""
    return f"{size / MEBIBYTE:,.0f} MB"
