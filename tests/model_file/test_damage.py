"""Model files whose document or tensors are damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.model_file.bytes import Metadata, Tensors, assert_refused, change, change_document, contents, sealed
from tests.model_file.estimators import N_FEATURES, saved


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
