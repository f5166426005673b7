"""Sign a model file that is already there, and tell who signed one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gditd.atomic import write_atomically
from gditd.model_file.container import checked_metadata, read_bytes
from gditd.model_file.errors import ModelFileError
from gditd.model_file.signing import add_signature, fingerprint, parts_of_signature, private_key

if TYPE_CHECKING:
    from gditd.model_file.signing import PrivateKey


def sign_file(path: Path, key: PrivateKey, out: Path) -> str:
    """Write the model in `path` with a signature to `out`, which may be the same; returns the key's fingerprint.

    The model itself is not loaded, but a file with a wrong checksum is refused.
    """
    private = private_key(key)
    data = bytearray(checked(path))
    add_signature(data, private)
    write_atomically(out, lambda temporary: temporary.write_bytes(data))
    return fingerprint(private.public_key().public_bytes_raw())


def signer_of(path: Path) -> str | None:
    """The fingerprint of the key that a file says it was signed with, None where it says nothing.

    Anybody can write that: only verifying with a key got elsewhere proves it.
    """
    found = parts_of_signature(checked(path))
    return None if found is None else fingerprint(found[0])


def checked(path: Path) -> bytes:
    """The bytes of a model file whose checksum fits."""
    try:
        data = read_bytes(path)
        checked_metadata(data)
    except ModelFileError as error:
        raise ModelFileError(f"cannot load {path}: {error}") from None
    return data
