"""`gditd keygen`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gditd.cli.examples import examples

NAME = "keygen"
EXAMPLES = examples(
    ("writes our.key.pem, to keep, and our.pub.pem, to give away", "gditd keygen our"),
    ("a private key that is of no use without its password", "GDITD_KEY_PASSWORD=secret gditd keygen our"),
)


def command(
    name: Annotated[
        Path,
        typer.Argument(metavar="NAME", help="What the two files are named: NAME.key.pem and NAME.pub.pem."),
    ],
) -> None:
    """Make a pair of keys: a private one to sign models with, and a public one for others to verify them.

    They are Ed25519 keys in PEM files, as openssl makes and reads them. A password in GDITD_KEY_PASSWORD protects the
    private key.
    """
    from gditd.cli.tasks.sign import make_keys  # noqa: PLC0415 - as in all commands, help should not wait

    make_keys(name)
