"""Models as ONNX files, which run wherever there is an ONNX runtime: without gditd, torch or even Python."""

from __future__ import annotations

from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gditd.atomic import write_atomically

if TYPE_CHECKING:
    from gditd import GDITDClassifier

Numbers = Literal["float", "double"]
NEEDS = "exporting to ONNX needs: pip install 'gditd[onnx]'"


def export_onnx(
    model: GDITDClassifier,
    path: str | PathLike[str],
    *,
    alpha: float | None = None,
    require_alpha: bool = False,
    numbers: Numbers = "float",
) -> None:
    """Write a fitted classifier as one ONNX graph, from a table's columns to verdicts.

    Parameters
    ----------
    model : a fitted :class:`gditd.GDITDClassifier`.
    path : the file to write; it appears whole or not at all.
    alpha : what the input `alpha` stands at where it is not given; None for the model's own.
    require_alpha : make `alpha` an input that must be given. A runtime that does not know defaults of inputs would
        ignore another value without a word: onnxruntime for JavaScript is one.
    numbers : what numbers, booleans and alpha are given as. "float" keeps seven digits of each; take "double" where
        a column needs more.

    What cannot be exported is refused with a ValueError that names it, and the file is not written.
    """
    if not is_installed():
        raise ImportError(NEEDS)
    from gditd.integrations.onnx.model import to_onnx  # noqa: PLC0415 - onnx is an extra

    content = to_onnx(model, alpha=alpha, require_alpha=require_alpha, numbers=numbers).SerializeToString()
    write_atomically(Path(path), lambda temporary: temporary.write_bytes(content))


def is_installed() -> bool:
    """Whether what exporting needs is there."""
    return find_spec("onnx") is not None


__all__ = ["export_onnx"]
