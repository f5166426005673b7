"""Coroutines in tests."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_apart(work: Coroutine[Any, Any, Result]) -> Result:
    """Run in a thread of its own: Playwright leaves a loop running in the main one, where asyncio allows no other."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
