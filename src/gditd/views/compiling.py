"""How the inner loops of views are compiled. Importing it takes a moment, so only what runs such a loop does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

_Function = TypeVar("_Function", bound=Callable[..., Any])


def inlined(function: _Function) -> _Function:
    """Let compiled functions call this one."""
    return numba.njit(function)  # type: ignore[no-any-return]


def compiled(function: _Function, *arguments: Any, gives: Any = numba.void) -> _Function:
    """Compile at once, and keep the result for the next process where there is a folder to keep it in.

    That is beside this file, as Python keeps its own, or else in the user's cache: who can write there can change the
    program too.

    A function gives nothing or a number; arrays it finds are `filled` ones that it is given. To return an array, Numba
    runs a little Python once the loop is done: a Ctrl-C during the loop is raised in there, and comes out as a
    SystemError, or not at all.
    """
    signature = gives(*arguments)
    try:
        return numba.njit(signature, nogil=True, cache=True)(function)  # type: ignore[no-any-return]
    except (RuntimeError, OSError):  # no folder may be written to, or the disk is full
        return numba.njit(signature, nogil=True)(function)  # type: ignore[no-any-return]


def given(kind: Any, n_dimensions: int) -> Any:
    """The type of an array that is only read."""
    return numba.types.Array(kind, n_dimensions, "C", readonly=True)


def filled(kind: Any, n_dimensions: int) -> Any:
    """The type of an array that is written to."""
    return numba.types.Array(kind, n_dimensions, "C")
