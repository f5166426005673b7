"""Settings of the process that small networks need to train fast."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # from glibc's malloc.h


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one intra-op thread: small products lose more to thread hand-over than they gain."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@functools.cache
def keep_freed_memory() -> None:
    """Ask the C library to keep memory that was freed, up to 256 MB, for the next allocation.

    A training step allocates and frees the same few megabytes over and over. By default glibc hands them back to the
    system each time and every page is then mapped anew: a seventh of the time of a step. Other C libraries have no
    such setting and are left alone.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 32 << 20)
        mallopt(_M_TRIM_THRESHOLD, 256 << 20)
