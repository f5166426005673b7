"""What a service is started with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Settings:
    """Where the models are, who may ask, and how much at once.

    models: model files, and folders whose *.gditd files are served. max_body: bytes, before and after decompression.
    timeout: seconds a request may take in all. max_waiting: requests that may be under way at once.
    """

    models: tuple[Path, ...]
    api_key: str | None = None
    max_body: int = 64 * MEGABYTE
    max_rows: int = 200_000
    timeout: float = 60.0
    max_waiting: int = 256
    quiet: bool = False
