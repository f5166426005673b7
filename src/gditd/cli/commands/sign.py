"""`gditd sign`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gditd.cli.examples import examples
from gditd.cli.options import ModelFile

NAME = "sign"
EXAMPLES = examples(
    ("put a signature into the file", "gditd sign m.gditd --key our.key.pem"),
    ("leave the file as it is and write another", "gditd sign m.gditd --key our.key.pem --out signed.gditd"),
    ("use it only if the signature is ours", "gditd predict m.gditd new.csv --verify our.pub.pem --out verdicts.csv"),
)


def command(
    model: ModelFile,
    *,
    key: Annotated[
        Path,
        typer.Option(
            "--key", metavar="PRIVATE_KEY", help="The private key, as gditd keygen writes it.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where to write. Default: the same file.", show_default=False),
    ] = None,
) -> None:
    """Sign a model, so that others can verify who vouches for it; a signature that is there is replaced.

    You vouch for every bit of the file. The password of a protected key is taken from GDITD_KEY_PASSWORD.
    """
    from gditd.cli.tasks.sign import sign  # noqa: PLC0415 - torch takes seconds, help should not

    sign(model, key, out=out)
