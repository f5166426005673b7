"""Signatures: who made a model file. Ed25519 keys in PEM files, as openssl makes them too.

What is signed is the file's content, so a signature says that the holder of the key vouches for every bit of it. The
public key stands beside the signature, but proves nothing there: a reader compares it with one that was got otherwise.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gditd.model_file.errors import ModelFileError
from gditd.model_file.seal import Bytes, has_seal, seal, signature_of, signed_content

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

    PrivateKey = Ed25519PrivateKey | str | PathLike[str]
    PublicKey = Ed25519PublicKey | str | PathLike[str]

PASSWORD: Final = "GDITD_KEY_PASSWORD"
KEY_BYTES: Final = 32
LARGEST_KEY_FILE: Final = 16_384

# A signature of a model must never pass for one of anything else.
PURPOSE: Final = b"gditd model file, format 2\n"


class KeyFileError(ValueError):
    """A key that cannot be used, with the reason."""


def add_signature(data: bytearray, key: PrivateKey) -> None:
    """Put a signature of a file's content into it, and the checksum that then fits."""
    private = private_key(key)
    signature = private.sign(PURPOSE + signed_content(data))
    public = private.public_key().public_bytes_raw()
    seal(data, base64.b64encode(public + signature).decode("ascii"))


def check_signature(data: Bytes, key: PublicKey) -> None:
    """Refuse a file that the holder of a key has not signed as it is."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - optional; `public_key` says so

    wanted = public_key(key)
    if not has_seal(data):
        raise ModelFileError("it is not a gditd model with a signature")
    found = parts_of_signature(data)
    if found is None:
        raise ModelFileError("it is not signed, and a signature was asked for: ask its maker for a signed one")
    own, signature = found
    if own != wanted.public_bytes_raw():
        raise ModelFileError(
            f"it is signed with another key ({fingerprint(own)}) than the one to verify with "
            f"({fingerprint(wanted.public_bytes_raw())})"
        )
    try:
        wanted.verify(signature, PURPOSE + signed_content(data))
    except InvalidSignature:
        raise ModelFileError(
            "its signature does not fit its content: it was changed after it was signed; get the original"
        ) from None


def parts_of_signature(data: Bytes) -> tuple[bytes, bytes] | None:
    """The signer's public key and the signature, None where there is none."""
    text = signature_of(data)
    if text is None:
        return None
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ModelFileError("its signature is damaged") from None
    return raw[:KEY_BYTES], raw[KEY_BYTES:]


def fingerprint(public: bytes) -> str:
    """A short name for a public key: what people compare."""
    return hashlib.sha256(public).hexdigest()[:16]


# --- keys ---


def private_key(key: PrivateKey) -> Ed25519PrivateKey:
    """Read a private key from a PEM file; one with a password takes it from the environment."""
    if not isinstance(key, str | PathLike):
        return key
    serialization, kind = _library()
    pem = _pem(Path(key))
    protected = b"ENCRYPTED" in pem
    password = os.environ.get(PASSWORD)
    if protected and not password:
        raise KeyFileError(f"{key} is protected by a password: give it in the environment as {PASSWORD}")
    try:
        found = serialization.load_pem_private_key(pem, password.encode() if protected and password else None)
    except Exception:  # whatever the library makes of it
        raise KeyFileError(
            f"{key} is no private key in PEM, or its password is wrong: make one with gditd keygen"
        ) from None
    if not isinstance(found, kind.Ed25519PrivateKey):
        raise KeyFileError(f"{key} is not an Ed25519 key: make one with gditd keygen")
    private: Ed25519PrivateKey = found
    return private


def public_key(key: PublicKey) -> Ed25519PublicKey:
    """Read a public key from a PEM file."""
    if not isinstance(key, str | PathLike):
        return key
    serialization, kind = _library()
    pem = _pem(Path(key))
    try:
        found = serialization.load_pem_public_key(pem)
    except Exception:  # whatever the library makes of it
        raise KeyFileError(f"{key} is no public key in PEM: give the .pub.pem file of gditd keygen") from None
    if not isinstance(found, kind.Ed25519PublicKey):
        raise KeyFileError(f"{key} is not an Ed25519 key: give the .pub.pem file of gditd keygen")
    public: Ed25519PublicKey = found
    return public


def new_key_pair() -> tuple[bytes, bytes, str]:
    """Make a key pair: the private and the public key as PEM, and the fingerprint."""
    serialization, kind = _library()
    private = kind.Ed25519PrivateKey.generate()
    public = private.public_key()
    password = os.environ.get(PASSWORD)
    protection = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
    return (
        private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, protection),
        public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
        fingerprint(public.public_bytes_raw()),
    )


def _pem(path: Path) -> bytes:
    """The text of a key file."""
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_KEY_FILE + 1)
    except OSError as error:
        raise KeyFileError(f"cannot read the key {path}: {error.strerror}") from None
    if len(text) > LARGEST_KEY_FILE:
        raise KeyFileError(f"{path} is too large for a key: give a PEM file")
    return text


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - optional
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415
    except ImportError:
        raise KeyFileError('signatures need: pip install "gditd[sign]"') from None
    return serialization, ed25519
