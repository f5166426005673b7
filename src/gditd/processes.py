"""What worker processes need to get along: one thread each, and no more of them than there are cores."""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker

import pyarrow as pa
from joblib import cpu_count

_M_MMAP_THRESHOLD = -3  # from glibc's malloc.h


def usable_cores() -> int:
    """How many cores this process may use, which a container may limit to fewer than the machine has."""
    return int(cpu_count())


@functools.cache
def return_large_blocks() -> None:
    """Ask the C library to hand blocks of a megabyte and more back to the system as soon as they are freed.

    By default glibc keeps them for later once it has seen some, and every process holds on to its largest moment. Other
    C libraries have no such setting and are left alone.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 1 << 20)


@functools.cache
def leave_ctrl_c_to_python() -> None:
    """Keep Arrow from listening to Ctrl-C while it reads a CSV.

    It passes it on through a thread, and where it has read all before that, the Ctrl-C is lost. A table is read piece
    by piece, so that Python hears of it soon enough.
    """
    pa.enable_signal_handlers(False)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let processes started inside use one thread each: libraries read these variables when they are loaded."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """Let processes started inside ignore Ctrl-C, from their very first moment: it is their parent's to handle."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Starting the first process also starts this one, after which Python listens to Ctrl-C again: too early.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)  # a Ctrl-C that came meanwhile is delivered now
