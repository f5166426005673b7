"""Model files taken apart and put together again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open
from torch import Tensor

import gditd
from gditd import ModelFileError
from gditd.model_file.container import packed

Tensors = dict[str, Tensor]
Metadata = dict[str, str]


def contents(path: Path) -> tuple[Tensors, Metadata]:
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 - not a dict
        return tensors, dict(file.metadata())


def change(path: Path, alter: Callable[[Tensors, Metadata], None]) -> None:
    """Rewrite a model file with other tensors or other metadata, and a checksum that fits: whoever can write a file can
    compute one."""
    tensors, metadata = contents(path)
    alter(tensors, metadata)
    path.write_bytes(sealed(tensors, metadata))


def sealed(tensors: Tensors, metadata: Metadata) -> bytes:
    return bytes(packed({key: text for key, text in metadata.items() if key not in ("sha256", "signature")}, tensors))


def change_document(path: Path, alter: Callable[[dict[str, Any]], None]) -> None:
    def alter_metadata(_: Tensors, metadata: Metadata) -> None:
        document = json.loads(metadata["document"])
        alter(document)
        metadata["document"] = json.dumps(document)

    change(path, alter_metadata)


def assert_refused(path: Path, reason: str = "") -> None:
    with pytest.raises(ModelFileError, match=rf"^cannot load {re.escape(str(path))}: .*{reason}") as caught:
        gditd.load(path)
    assert "\n" not in str(caught.value)
