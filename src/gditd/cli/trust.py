"""Whose models the command line takes.

The key is kept in the environment while a command runs: whatever loads a model for it, in this process or in one that
it starts, finds it there. A key that had to be handed on from function to function could be forgotten once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "GDITD_VERIFY"


@contextmanager
def only_signed_by(key: Path | None) -> Iterator[None]:
    """Take no model inside but those signed with the private key that belongs to this public one; None takes any."""
    before = os.environ.get(VARIABLE)
    if key is not None:
        os.environ[VARIABLE] = str(key.absolute())
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before


def trusted_key() -> Path | None:
    """The public key that models must be signed for, None where any model will do."""
    name = os.environ.get(VARIABLE)
    return Path(name) if name else None
