"""The seal of a model file: a checksum over all of it, and room for a signature.

The header of a model file starts with two slots of fixed width, so that sealing changes nothing else:

    8 bytes        length of the header
    {"__metadata__":{"sha256":"<64 hex digits>","signature":"<128 characters>","format":...

The checksum is of the whole file with zeros in its own slot: any other byte, the signature included, changes it. What
is signed is the whole file with both slots empty. A checksum finds accidents; only a signature finds an author.
"""

from __future__ import annotations

import hashlib
from typing import Final

from gditd.model_file.errors import ModelFileError

LENGTH_BYTES: Final = 8
OPENING: Final = b'{"__metadata__":{"sha256":"'
BETWEEN: Final = b'","signature":"'
CHECKSUM: Final = slice(LENGTH_BYTES + len(OPENING), LENGTH_BYTES + len(OPENING) + 64)
SIGNATURE: Final = slice(CHECKSUM.stop + len(BETWEEN), CHECKSUM.stop + len(BETWEEN) + 128)
NO_CHECKSUM: Final = "0" * 64
UNSIGNED: Final = "-" * 128

Bytes = bytes | bytearray


def has_seal(data: Bytes) -> bool:
    """Whether the slots are where they belong."""
    return (
        bytes(data[LENGTH_BYTES : CHECKSUM.start]) == OPENING
        and bytes(data[CHECKSUM.stop : SIGNATURE.start]) == BETWEEN
        and len(data) > SIGNATURE.stop
    )


def seal(data: bytearray, signature: str = UNSIGNED) -> None:
    """Fill in a signature, or none, and then the checksum."""
    data[SIGNATURE] = signature.encode("ascii")
    data[CHECKSUM] = checksum(data).encode("ascii")


def check_seal(data: Bytes) -> None:
    """Refuse a file of which any bit is not as it was written."""
    if bytes(data[CHECKSUM]) != checksum(data).encode("ascii"):
        raise ModelFileError(
            "it is damaged: its content does not fit its checksum; copy the file again, or fit the model anew"
        )


def checksum(data: Bytes) -> str:
    """SHA-256 of all but the checksum itself."""
    view = memoryview(data)
    return _digest(view[: CHECKSUM.start], NO_CHECKSUM.encode(), view[CHECKSUM.stop :]).hex()


def signed_content(data: Bytes) -> bytes:
    """What a signature is of: SHA-256 of all but the two slots."""
    view = memoryview(data)
    return _digest(
        view[: CHECKSUM.start],
        NO_CHECKSUM.encode(),
        view[CHECKSUM.stop : SIGNATURE.start],
        UNSIGNED.encode(),
        view[SIGNATURE.stop :],
    )


def signature_of(data: Bytes) -> str | None:
    """The text in the signature's slot, None where the file is not signed."""
    text = bytes(data[SIGNATURE]).decode("ascii", errors="replace")
    return None if text == UNSIGNED else text


def _digest(*parts: bytes | memoryview) -> bytes:
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.digest()
