"""A saved model comes back as it was."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import gditd
from gditd import ModelFileError
from gditd.detectors import GDITD, Softmax
from tests.model_file.bytes import assert_refused, contents
from tests.model_file.estimators import ESTIMATORS, assert_same_answers, rows

LABELS = {
    "text": np.array(["fraud", "legitimate", "überfällig"]),
    "object": np.array(["a", "bb", "ccc"], dtype=object),
    "int": np.array([-3, 0, 2**40]),
    "uint8": np.array([0, 7, 255], dtype=np.uint8),
    "float": np.array([-1.0, 0.0, 2.0]),
    "bool": np.array([False, True]),
}


def narrow_network(n_features: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n_features, 6), nn.ReLU(), nn.Linear(6, 3))


class TestRoundTrip:
    @ESTIMATORS
    @pytest.mark.parametrize("kind", LABELS)
    def test_answers_are_the_same_to_the_bit(self, make: Callable[[], Any], kind: str, tmp_path: Path) -> None:
        classes = LABELS[kind]
        x, codes = rows(len(classes))
        estimator = make().fit(x, classes[codes])
        estimator.save(tmp_path / "model.gditd")
        loaded = gditd.load(tmp_path / "model.gditd")
        assert type(loaded) is type(estimator)
        assert loaded.classes_.dtype == estimator.classes_.dtype
        assert np.array_equal(loaded.classes_, estimator.classes_)
        assert_same_answers(estimator, loaded, np.vstack([x, 100 * x]))

    @ESTIMATORS
    def test_column_names_come_back(self, make: Callable[[], Any], tmp_path: Path) -> None:
        x, codes = rows()
        frame = pd.DataFrame(x, columns=["Betrag €", "b", "c d", "e"])
        estimator = make().fit(frame, pd.Series(LABELS["text"][codes]))
        estimator.save(tmp_path / "model.gditd")
        loaded = gditd.load(tmp_path / "model.gditd")
        assert list(loaded.feature_names_in_) == list(frame.columns)
        assert_same_answers(estimator, loaded, frame)
        with pytest.raises(ValueError, match=r"feature names|lacks column"):
            loaded.predict(frame.rename(columns={"b": "other"}))

    @ESTIMATORS
    def test_a_loaded_model_saves_the_same_bytes(self, make: Callable[[], Any], tmp_path: Path) -> None:
        x, codes = rows()
        make().fit(x, codes).save(tmp_path / "model.gditd")
        gditd.load(tmp_path / "model.gditd").save(tmp_path / "again.gditd")
        assert (tmp_path / "again.gditd").read_bytes() == (tmp_path / "model.gditd").read_bytes()

    def test_any_safetensors_reader_reads_it(self, fitted: dict[str, Any], forest_file: Path) -> None:
        tensors, metadata = contents(forest_file)
        assert json.loads(metadata["document"])["estimator"] == "ExtraTrees"
        assert torch.equal(tensors["values"], torch.from_numpy(fitted["forest"]._tensors()["values"]))

    def test_settings_come_back_and_those_of_the_run_do_not(self, tmp_path: Path) -> None:
        x, codes = rows()
        settings = {"max_epochs": np.int64(2), "learning_rate": np.float64(0.02), "beta": "effective"}
        detector = GDITD(**settings, device="cpu", progress=lambda _: None, random_state=np.random.RandomState(0))
        detector.fit(x, codes).save(tmp_path / "model.gditd")
        loaded = gditd.load(tmp_path / "model.gditd")
        expected = detector.get_params() | {"device": "auto", "progress": None, "random_state": None}
        assert loaded.get_params() == expected

    def test_a_file_overwritten_later_does_not_touch_a_loaded_model(
        self, fitted: dict[str, Any], network_file: Path
    ) -> None:
        loaded = gditd.load(network_file)
        with network_file.open("r+b") as file:
            file.write(bytes(network_file.stat().st_size))
        assert_same_answers(fitted["network"], loaded, rows()[0])

    def test_paths_may_be_texts(self, fitted: dict[str, Any], tmp_path: Path) -> None:
        fitted["forest"].save(str(tmp_path / "model"))
        assert_same_answers(fitted["forest"], gditd.load(str(tmp_path / "model")), rows()[0])

    def test_loading_leaves_the_global_random_state_alone(self, network_file: Path, forest_file: Path) -> None:
        torch.manual_seed(5)
        torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
        gditd.load(network_file)
        gditd.load(forest_file)
        assert torch.equal(torch.get_rng_state(), torch_state)
        assert (np.random.get_state()[1] == numpy_state).all()  # noqa: NPY002

    @ESTIMATORS
    def test_loading_unpickles_nothing(
        self, make: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        x, codes = rows()
        make().fit(x, codes).save(tmp_path / "model.gditd")

        def refuse(*_: Any, **__: Any) -> None:
            raise AssertionError("something was unpickled")

        for module, name in [(pickle, "load"), (pickle, "loads"), (pickle, "Unpickler"), (torch, "load")]:
            monkeypatch.setattr(module, name, refuse)
        assert gditd.load(tmp_path / "model.gditd").predict(x).shape == (30,)


class TestCallableBackbone:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        x, codes = rows()
        Softmax(backbone=narrow_network, max_epochs=2, device="cpu", random_state=0).fit(x, codes).save(
            tmp_path / "own.gditd"
        )
        return tmp_path / "own.gditd"

    def test_load_asks_for_it_by_name(self, path: Path) -> None:
        assert_refused(path, r"made by narrow_network: hand that callable in, load\(path, backbone=...\)")

    def test_load_takes_it(self, path: Path) -> None:
        x, codes = rows()
        expected = Softmax(backbone=narrow_network, max_epochs=2, device="cpu", random_state=0).fit(x, codes)
        assert_same_answers(expected, gditd.load(path, backbone=narrow_network), x)

    @pytest.mark.parametrize("backbone", [lambda n: nn.Linear(n, 3), lambda _: None, lambda: None])
    def test_another_one_is_refused(self, path: Path, backbone: Callable[[int], nn.Module]) -> None:
        with pytest.raises(ModelFileError, match=re.escape(str(path))):
            gditd.load(path, backbone=backbone)
