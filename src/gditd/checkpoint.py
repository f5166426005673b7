"""A file that training writes as it goes, and from which a training that was stopped goes on."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gditd.atomic import clear_stale, write_atomically
from gditd.model_file.container import pack, read_bytes, unpack
from gditd.model_file.errors import ModelFileError, what_is_wrong
from gditd.training.state import State

FORMAT = "gditd-checkpoint"
SECONDS_BETWEEN = 10.0  # writing takes milliseconds, so little is lost to it, and little when a fit is stopped


@dataclass
class CheckpointFile:
    """Where training is written to, and how often."""

    path: Path
    seconds_between: float = field(default_factory=lambda: SECONDS_BETWEEN)
    _written: float = field(default_factory=time.monotonic)
    _writable: bool = True

    def read(self, identity: str) -> State | None:
        """What an earlier run left, if anything; ValueError if that run was to learn something else."""
        if not self.path.exists():
            return None
        try:
            document, tensors = unpack(read_bytes(self.path), FORMAT)
            found = document["identity"]
        except ModelFileError as error:
            raise ModelFileError(f"cannot go on from {self.path}: {error}; remove it to begin anew") from None
        except Exception as error:
            raise ModelFileError(f"cannot go on from {self.path}: {what_is_wrong(error)}; remove it") from error
        if found != identity:
            raise ValueError(
                f"cannot go on from {self.path}: it is of another table, of other settings or of another version of "
                "torch; give what it was begun with, or remove it to begin anew"
            )
        return document["state"], tensors

    def offer(self, identity: str, state: Callable[[], State]) -> None:
        """Write the state if the last one is old enough. A full disk is no reason to give up training."""
        if not self._writable or time.monotonic() - self._written < self.seconds_between:
            return
        document, tensors = state()
        data = pack({"identity": identity, "state": document}, tensors, FORMAT)
        try:
            write_atomically(self.path, lambda temporary: temporary.write_bytes(data))
        except OSError as error:
            self._writable = False
            warnings.warn(f"training goes on without {self.path}, which cannot be written: {error}", stacklevel=2)
        self._written = time.monotonic()

    def remove(self) -> None:
        """Remove the file, and what a killed run may have left of it."""
        clear_stale(self.path.parent, self.path.name)
        self.path.unlink(missing_ok=True)
