"""Small model files of every kind, and how to write them anew with other contents and a checksum that fits.

Whoever can write a file can compute its checksum: a file from a stranger has a right one.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from torch import Tensor

from gditd import GDITDClassifier
from gditd.detectors import GDITD, KNN, ExtraTrees
from gditd.model_file.container import FORMAT, VERSION, packed, unpack
from tests.raw_tables import mixed_table

Tensors = dict[str, Tensor]


class Contents(NamedTuple):
    """What is in a model file."""

    document: Any
    tensors: Tensors


def table() -> tuple[pd.DataFrame, np.ndarray]:
    return mixed_table((40, 60, 110))


def strange_rows() -> pd.DataFrame:
    """Rows with all that a new table may bring."""
    rows = table()[0].iloc[::16].reset_index(drop=True)
    rows.loc[0, "amount"] = 1e308
    rows.loc[1, "region"] = "moon"
    rows.loc[2, ["amount", "gap", "region"]] = None
    return rows


def numbers() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 4)), np.arange(30) % 3


MAKERS: dict[str, Callable[[], Any]] = {
    "fast": lambda: GDITDClassifier(preset="fast", max_epochs=1, keep_examples=True, random_state=0).fit(*table()),
    "default": lambda: GDITDClassifier(max_epochs=1, n_members=2, random_state=0).fit(*table()),
    "paper": lambda: GDITDClassifier(preset="paper", max_epochs=1, numbers="piecewise", random_state=0).fit(*table()),
    "quantile": lambda: GDITDClassifier(preset="fast", max_epochs=1, numbers="quantile", random_state=0).fit(*table()),
    "network": lambda: GDITD(max_epochs=1, device="cpu", random_state=0).fit(*numbers()),
    "neighbours": lambda: KNN(max_epochs=1, device="cpu", random_state=0).fit(*numbers()),
    "forest": lambda: ExtraTrees(n_estimators=3, random_state=0).fit(*numbers()),
}


@cache
def model_bytes(kind: str) -> bytes:
    """A whole model file."""
    with warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        MAKERS[kind]().save(Path(folder) / "model.gditd")
        return (Path(folder) / "model.gditd").read_bytes()


def contents(kind: str) -> Contents:
    """What is in it; the caller's to change."""
    return Contents(*unpack(model_bytes(kind)))


def sealed(document: Any, tensors: Tensors) -> bytes:
    """A model file with these contents."""
    text = document if isinstance(document, str) else json.dumps(document)
    return bytes(packed({"format": FORMAT, "version": str(VERSION), "document": text}, tensors))
