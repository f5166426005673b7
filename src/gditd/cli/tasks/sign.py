"""Keys, and signatures on model files."""

from __future__ import annotations

import os
from pathlib import Path

from gditd.cli.console import out as stdout
from gditd.cli.tasks.tables import refuse_same_file, refuse_unwritable
from gditd.model_file.signed_file import sign_file
from gditd.model_file.signing import new_key_pair


def make_keys(name: Path) -> None:
    """Write a new pair of keys; never over files that are there."""
    private, public = (name.with_name(f"{name.name}.{ending}") for ending in ("key.pem", "pub.pem"))
    if not private.parent.is_dir():
        raise ValueError(f"cannot write {private}: there is no folder {private.parent}")
    for path in (private, public):
        if path.exists():
            raise ValueError(f"{path} is there already, and a key that is lost is lost: choose another name")
    private_pem, public_pem, fingerprint = new_key_pair()
    put_new(private, private_pem, 0o600)
    put_new(public, public_pem, 0o644)
    lines = [
        f"Made the key {fingerprint}.",
        f"  {private}: keep it to yourself, and sign with it: gditd sign MODEL --key {private}",
        f"  {public}: give it to others, who verify with it: gditd predict MODEL TABLE --verify {public}",
    ]
    stdout().print("\n".join(lines), soft_wrap=True)  # commands in parts could not be copied


def put_new(path: Path, content: bytes, mode: int) -> None:
    """Write a file that was not there, readable from its first byte on for whom it is meant."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)


def sign(path: Path, key: Path, *, out: Path | None) -> None:
    """Sign a model file."""
    out = path if out is None else out
    refuse_unwritable(out)
    refuse_same_file(out, key)
    fingerprint = sign_file(path, key, out)
    stdout().print(f"{out} is signed with the key {fingerprint}.", soft_wrap=True)
