from __future__ import annotations

import json
import os
import pickle
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from sklearn.exceptions import NotFittedError
from torch import Tensor, nn

import gditd
from gditd import GDITDClassifier, ModelFileError
from gditd.detectors import GDITD, ExtraTrees, Softmax
from gditd.model_file.container import VERSION, packed

N_FEATURES = 4

LABELS = {
    "text": np.array(["fraud", "legitimate", "überfällig"]),
    "object": np.array(["a", "bb", "ccc"], dtype=object),
    "int": np.array([-3, 0, 2**40]),
    "uint8": np.array([0, 7, 255], dtype=np.uint8),
    "float": np.array([-1.0, 0.0, 2.0]),
    "bool": np.array([False, True]),
}

Tensors = dict[str, Tensor]
Metadata = dict[str, str]


def rows(n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    codes = np.arange(30) % n_classes
    return 3 * random.normal(size=(n_classes, N_FEATURES))[codes] + random.normal(size=(30, N_FEATURES)), codes


def network_detector() -> GDITD:
    return GDITD(max_epochs=2, n_members=2, device="cpu", random_state=0)


def forest() -> ExtraTrees:
    return ExtraTrees(n_estimators=3, random_state=0)


def classifier() -> GDITDClassifier:
    return GDITDClassifier(preset="fast", max_epochs=2, device="cpu", random_state=0)


ESTIMATORS = pytest.mark.parametrize("make", [network_detector, forest, classifier])


def narrow_network(n_features: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n_features, 6), nn.ReLU(), nn.Linear(6, 3))


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    x, codes = rows()
    return {"network": network_detector().fit(x, codes), "forest": forest().fit(x, codes)}


@pytest.fixture
def network_file(fitted: dict[str, Any], tmp_path: Path) -> Path:
    path = tmp_path / "network.gditd"
    fitted["network"].save(path)
    return path


@pytest.fixture
def forest_file(fitted: dict[str, Any], tmp_path: Path) -> Path:
    path = tmp_path / "forest.gditd"
    fitted["forest"].save(path)
    return path


def assert_same_answers(first: Any, second: Any, x: Any) -> None:
    for method in ("predict", "ood_score", "class_scores", "predict_proba"):
        expected, found = getattr(first, method)(x), getattr(second, method)(x)
        assert found.dtype == expected.dtype, method
        assert np.array_equal(found, expected), method


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


def saved(estimator: Any, folder: Path) -> Path:
    estimator.save(folder / "model.gditd")
    return folder / "model.gditd"


class TestForeignFiles:
    def test_missing(self, tmp_path: Path) -> None:
        assert_refused(tmp_path / "nothing.gditd", "there is no such file")
        assert_refused(tmp_path, "there is no such file")

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


class TestDamagedDocuments:
    @pytest.mark.parametrize(
        "document",
        ["", "null", "[]", "3", "{}", '{"estimator": []}', "[" * 100_000, '{"estimator": "GDITD"'],
        ids=len,
    )
    def test_other_documents(self, forest_file: Path, document: str) -> None:
        change(forest_file, lambda _, metadata: metadata.update(document=document))
        assert_refused(forest_file)

    @pytest.mark.parametrize("field", ["estimator", "parameters", "classes", "n_features", "feature_names"])
    def test_missing_fields(self, network_file: Path, field: str) -> None:
        change_document(network_file, lambda document: document.pop(field))
        assert_refused(network_file, field)

    @pytest.mark.parametrize("name", ["Detector", "os.system", "builtins.eval", "NoSuch", "__class__"])
    def test_unknown_estimators(self, forest_file: Path, name: str) -> None:
        change_document(forest_file, lambda document: document.update(estimator=name))
        assert_refused(forest_file, f"it holds a '{name}', which this gditd does not know")

    @pytest.mark.parametrize(
        "fields",
        [
            {"parameters": {"no_such_setting": 1}},
            {"parameters": {"backbone": "no such network"}},
            {"parameters": {"backbone": "residual"}},
            {"parameters": []},
            {"parameters": 3},
            {"n_features": N_FEATURES + 1},
            {"n_features": -1},
            {"n_features": 10**12},
            {"n_features": 10**400},
            {"n_features": float("inf")},
            {"n_features": float("nan")},
            {"n_features": None},
            {"feature_names": ["a"]},
            {"feature_names": 3},
            {"feature_names": []},
            {"estimator": "Softmax"},
            {"estimator": "ExtraTrees"},
        ],
        ids=repr,
    )
    def test_fields_that_do_not_fit(self, network_file: Path, fields: dict[str, Any]) -> None:
        change_document(network_file, lambda document: document.update(fields))
        assert_refused(network_file)

    @pytest.mark.parametrize("kind", ["network", "forest"])
    @pytest.mark.parametrize(
        "classes",
        [
            {"dtype": "<i8", "values": [0, 1]},
            {"dtype": "<i8", "values": [0, 1, 2, 3]},
            {"dtype": "<i8", "values": []},
            {"dtype": "<i8", "values": [0, 1, "x"]},
            {"dtype": "<i8", "values": [0, 1, 1.5]},
            {"dtype": "|u1", "values": [0, 1, 300]},
            {"dtype": "|O", "values": [[0, 1], [2, 3], [4, 5]]},
            {"dtype": "<U1", "values": ["a", "b", "cut"]},
            {"dtype": "<U500000000", "values": ["a", "b", "c"]},
            {"dtype": "<M8[s]", "values": [0, 1, 2]},
            {"dtype": "no type", "values": [0, 1, 2]},
            {"dtype": "<i8,<f8", "values": [0, 1, 2]},
            {"values": [0, 1, 2]},
            [0, 1, 2],
            None,
        ],
        ids=repr,
    )
    def test_class_labels_that_do_not_fit(
        self, fitted: dict[str, Any], kind: str, classes: Any, tmp_path: Path
    ) -> None:
        path = saved(fitted[kind], tmp_path)
        change_document(path, lambda document: document.update(classes=classes))
        assert_refused(path)


def shape_changes() -> dict[str, Callable[[Tensor], Tensor | None]]:
    return {
        "missing": lambda _: None,
        "cut": lambda value: value[:-1].clone(),
        "empty": lambda value: value[:0].clone(),
        "one dimension more": lambda value: value.unsqueeze(-1).clone(),
        "a number": lambda value: value.flatten()[0].clone(),
    }


def type_changes() -> dict[str, Callable[[Tensor], Tensor]]:
    return {
        "half precision": lambda value: value.to(torch.float16),
        "another type": lambda value: value.to(torch.int32 if value.is_floating_point() else torch.float64),
        "odd type": lambda value: value.to(torch.bfloat16),
    }


class TestDamagedTensors:
    @pytest.mark.parametrize("kind", ["network", "forest"])
    @pytest.mark.parametrize("damage", shape_changes())
    def test_missing_tensors_and_wrong_shapes(
        self, fitted: dict[str, Any], kind: str, damage: str, tmp_path: Path
    ) -> None:
        path = saved(fitted[kind], tmp_path)
        self.assert_refused_one_by_one(path, list(contents(path)[0]), shape_changes()[damage])

    @pytest.mark.parametrize("kind", ["network", "forest"])
    @pytest.mark.parametrize("damage", type_changes())
    def test_wrong_types(self, fitted: dict[str, Any], kind: str, damage: str, tmp_path: Path) -> None:
        path = saved(fitted[kind], tmp_path)
        names = [name for name in contents(path)[0] if name not in ("mean", "scale")]  # any real numbers will do
        self.assert_refused_one_by_one(path, names, type_changes()[damage])

    @staticmethod
    def assert_refused_one_by_one(path: Path, names: list[str], damage: Callable[[Tensor], Tensor | None]) -> None:
        tensors, metadata = contents(path)
        for name in names:
            damaged = tensors | {name: damage(tensors[name])}
            path.write_bytes(sealed({n: value for n, value in damaged.items() if value is not None}, metadata))
            assert_refused(path)

    def test_an_unknown_tensor(self, network_file: Path) -> None:
        change(network_file, lambda tensors, _: tensors.update(extra=torch.zeros(2)))
        assert_refused(network_file, "'extra' is missing or unknown")

    def test_members_of_unequal_number(self, network_file: Path) -> None:
        change(network_file, lambda tensors, _: tensors.update({"head.centers": tensors["head.centers"][:1].clone()}))
        assert_refused(network_file)

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("left_child", 10**6),
            ("left_child", -2),
            ("left_child", 0),
            ("right_child", 10**6),
            ("right_child", -1),
            ("right_child", 0),
            ("feature", N_FEATURES),
            ("feature", -1),
            ("feature", 2**62),
            ("node_counts", 2**62),
            ("node_counts", -1),
            ("node_counts", 0),
        ],
    )
    def test_trees_that_point_outside_or_in_circles(self, forest_file: Path, field: str, value: int) -> None:
        def point_elsewhere(tensors: Tensors, _: Metadata) -> None:
            tensors[field][0] = value  # the root of the first tree

        change(forest_file, point_elsewhere)
        assert_refused(forest_file, "damaged|wrong type or shape")
