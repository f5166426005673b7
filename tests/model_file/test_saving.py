"""Saving writes a whole file or none."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sklearn.exceptions import NotFittedError

import gditd
from gditd import ModelFileError
from gditd.detectors import ExtraTrees
from tests.model_file.estimators import ESTIMATORS, rows, saved


class TestSaving:
    @ESTIMATORS
    def test_an_unfitted_model_is_refused(self, make: Callable[[], Any], tmp_path: Path) -> None:
        with pytest.raises(NotFittedError):
            make().save(tmp_path / "model.gditd")
        assert not list(tmp_path.iterdir())

    def test_a_missing_folder_is_named(self, fitted: dict[str, Any], tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=f"there is no folder {re.escape(str(tmp_path / 'nowhere'))}"):
            fitted["forest"].save(tmp_path / "nowhere" / "model.gditd")

    @pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
    def test_a_failed_save_leaves_the_old_file_and_nothing_else(
        self, forest_file: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
    ) -> None:
        before = forest_file.read_bytes()

        model = gditd.load(forest_file)

        def write_half(path: Path, data: bytes) -> None:
            with path.open("wb") as file:
                file.write(data[:100])
            raise error

        monkeypatch.setattr(Path, "write_bytes", write_half)
        with pytest.raises(type(error)):
            model.save(forest_file)
        assert forest_file.read_bytes() == before
        assert list(forest_file.parent.iterdir()) == [forest_file]

    def test_a_good_save_leaves_one_file(self, network_file: Path, fitted: dict[str, Any]) -> None:
        fitted["forest"].save(network_file)
        assert list(network_file.parent.iterdir()) == [network_file]
        assert isinstance(gditd.load(network_file), ExtraTrees)

    @pytest.fixture(params=[0o022, 0o027, 0o077])
    def umask(self, request: pytest.FixtureRequest) -> Iterator[int]:
        before = os.umask(request.param)
        yield request.param
        os.umask(before)

    def test_permissions_follow_the_umask(self, fitted: dict[str, Any], tmp_path: Path, umask: int) -> None:
        fitted["forest"].save(tmp_path / "model.gditd")
        assert (tmp_path / "model.gditd").stat().st_mode & 0o777 == 0o666 & ~umask

    def test_settings_that_json_cannot_hold_are_refused(self, fitted: dict[str, Any], tmp_path: Path) -> None:
        detector = gditd.load(saved(fitted["forest"], tmp_path)).set_params(n_estimators=[1, 2])
        with pytest.raises(ModelFileError, match=r"cannot save the setting n_estimators=\[1, 2\]"):
            detector.save(tmp_path / "other.gditd")

    def test_someone_elses_estimator_is_refused(self, tmp_path: Path) -> None:
        class Special(ExtraTrees):
            pass

        x, codes = rows()
        with pytest.raises(ModelFileError, match="cannot save a Special"):
            Special(n_estimators=2).fit(x, codes).save(tmp_path / "model.gditd")
