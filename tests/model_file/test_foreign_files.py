"""Files that are no models, or of another version."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from gditd.model_file.container import VERSION
from tests.model_file.bytes import Metadata, Tensors, assert_refused, change
from tests.model_file.estimators import saved


class TestForeignFiles:
    def test_missing(self, tmp_path: Path) -> None:
        assert_refused(tmp_path / "nothing.gditd", "there is no such file")
        assert_refused(tmp_path, "it is a folder: give the name of a model file in it")

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\0",
            b"amount,country\n12.5,DE\n",
            b"\x80\x04\x95\x10\x00\x00\x00",
            struct.pack("<Q", 2**63) + b"{}",
            struct.pack("<Q", 2**64 - 1) + b"{}",
            struct.pack("<Q", 99_999_999) + b"{}",
            struct.pack("<Q", 0),
            struct.pack("<Q", 2) + b"[]",
            struct.pack("<Q", 2) + b"\xff\xfe",
            bytes(4096),
            b"\xff" * 4096,
        ],
        ids=repr,
    )
    def test_other_contents(self, content: bytes, tmp_path: Path) -> None:
        path = tmp_path / "model.gditd"
        path.write_bytes(content)
        assert_refused(path, "not a gditd model")

    def test_a_zip_archive(self, tmp_path: Path) -> None:
        path = tmp_path / "model.gditd"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data.pkl", "x" * 500)
        assert_refused(path, "not a gditd model")

    @pytest.mark.parametrize("metadata", [None, {}, {"format": "pt"}])
    def test_safetensors_of_others(self, metadata: Metadata | None, tmp_path: Path) -> None:
        path = tmp_path / "model.gditd"
        save_file({"weight": torch.zeros(3)}, path, metadata=metadata)
        assert_refused(path, "it is not a gditd model$")

    @pytest.mark.parametrize("kind", ["network", "forest"])
    def test_a_file_cut_short_anywhere(self, fitted: dict[str, Any], kind: str, tmp_path: Path) -> None:
        path = saved(fitted[kind], tmp_path)
        content = path.read_bytes()
        header_end = 8 + struct.unpack("<Q", content[:8])[0]
        lengths = {0, 1, 7, 8, 9, header_end - 1, header_end, header_end + 1, len(content) - 1}
        for length in sorted(lengths | set(range(0, len(content), len(content) // 40))):
            path.write_bytes(content[:length])
            assert_refused(path)

    def test_a_file_with_something_behind_it(self, forest_file: Path) -> None:
        forest_file.write_bytes(forest_file.read_bytes() + b"more")
        assert_refused(forest_file)

    def test_a_file_that_cannot_be_opened(self, forest_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: Any, **__: Any) -> None:
            raise PermissionError("permission denied")

        monkeypatch.setattr(Path, "open", refuse)
        assert_refused(forest_file, "permission denied")


class TestVersion:
    def test_a_newer_file_asks_for_an_upgrade(self, forest_file: Path) -> None:
        change(forest_file, lambda _, metadata: metadata.update(version=str(VERSION + 1)))
        assert_refused(forest_file, "written by a newer gditd .*: upgrade gditd")

    @pytest.mark.parametrize("version", ["", "1.5", "-1", "new"])
    def test_a_version_must_be_a_number(self, forest_file: Path, version: str) -> None:
        change(forest_file, lambda _, metadata: metadata.update(version=version))
        assert_refused(forest_file, "version is missing")

    @pytest.mark.parametrize("field", ["format", "version", "document"])
    def test_metadata_must_be_there(self, forest_file: Path, field: str) -> None:
        def remove(_: Tensors, metadata: Metadata) -> None:
            del metadata[field]

        change(forest_file, remove)
        assert_refused(forest_file)
