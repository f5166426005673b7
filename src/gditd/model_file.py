"""One-file models: tensors in the safetensors format, settings as JSON in its header.

Reading one never executes code. The file says which estimator it holds by name, and only gditd's own estimators are
looked up.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from gditd.atomic import write_atomically

if TYPE_CHECKING:
    from gditd.detectors.base import Detector

FORMAT = "gditd-model"
VERSION = 1

Tensors = dict[str, Tensor | NDArray[Any]]

# Texts are stored at the width of the longest one, so one absurd width would fill the memory.
LONGEST_LABEL = 10_000

# Settings of the run, not of the model.
NOT_SAVED = ("device", "progress", "n_jobs")


class ModelFileError(ValueError):
    """A model file that cannot be read, with the reason."""


def save_model(estimator: Detector, path: str | PathLike[str]) -> None:
    """Write an estimator to a temporary file beside `path`, then rename it: nothing is ever half-written."""
    name = type(estimator).__name__
    if known_estimators().get(name) is not type(estimator):
        raise ModelFileError(f"cannot save a {name}: a model file holds gditd's own estimators only")
    document = {
        "estimator": name,
        "parameters": {name: plain_setting(name, value) for name, value in saved_parameters(estimator).items()},
        "classes": describe_labels(estimator.classes_),
        "n_features": int(estimator.n_features_in_),
        "feature_names": feature_names(estimator),
        "learned": estimator._document(),
    }
    tensors = tensors_of(estimator)
    metadata = {"format": FORMAT, "version": str(VERSION), "document": json.dumps(document)}
    write_atomically(Path(path), lambda temporary: save_file(tensors, temporary, metadata=metadata))


def load(path: str | PathLike[str], *, backbone: Callable[[int], torch.nn.Module] | None = None) -> Any:
    """Read a model written by `save`.

    A model whose backbone was a callable of yours does not contain it: hand the same callable in as `backbone`.
    """
    path = Path(path)
    try:
        document, tensors = read_file(path)
        return rebuild(document, tensors, backbone)
    except ModelFileError as error:
        raise ModelFileError(f"cannot load {path}: {error}") from None
    except Exception as error:  # what a damaged file says may break any step of rebuilding
        raise ModelFileError(f"cannot load {path}: it is damaged or incomplete ({first_line(error)})") from error


def read_file(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the header's document and the tensors, once format and version are known to fit."""
    if not path.is_file():
        raise ModelFileError("there is no such file")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise ModelFileError("it is not a gditd model")
            check_version(metadata.get("version", ""))
            document = json.loads(metadata["document"])
            # Copies: the tensors in `file` are the file itself, and change or vanish when it is overwritten.
            return document, {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 - no dict
    except SafetensorError as error:
        raise ModelFileError(f"it is not a gditd model, or it is cut short ({first_line(error)})") from error


def check_version(version: str) -> None:
    """Refuse files of a format newer than this program."""
    if not version.isdecimal():
        raise ModelFileError("its version is missing")
    if int(version) > VERSION:
        raise ModelFileError(
            f"it was written by a newer gditd (format {version}, this one reads up to {VERSION}): upgrade gditd"
        )


def rebuild(
    document: dict[str, Any], tensors: dict[str, Tensor], backbone: Callable[[int], torch.nn.Module] | None
) -> Detector:
    """Make the estimator a document describes and give it its tensors."""
    estimator_class = known_estimators().get(document["estimator"])
    if estimator_class is None:
        raise ModelFileError(f"it holds a {document['estimator']!r}, which this gditd does not know")
    parameters = {**document["parameters"]}
    if isinstance(parameters.get("backbone"), dict):
        if backbone is None:
            name = parameters["backbone"].get("callable", "a callable")
            raise ModelFileError(f"its network was made by {name}: hand that callable in, load(path, backbone=...)")
        parameters["backbone"] = backbone
    estimator: Detector = estimator_class(**parameters)
    estimator.classes_ = restore_labels(document["classes"])
    estimator.n_features_in_ = int(document["n_features"])
    if document["feature_names"] is not None:
        names = [str(name) for name in document["feature_names"]]
        if len(names) != estimator.n_features_in_:
            raise ModelFileError("its column names do not fit its number of columns")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator._restore(dict(tensors), document["learned"])
    estimator._try_out()
    refuse_differences(tensors, tensors_of(estimator))
    return estimator


def tensors_of(estimator: Detector) -> dict[str, Tensor]:
    """Return all that an estimator learned, as tensors on the CPU."""
    return {name: torch.as_tensor(value).detach().cpu().contiguous() for name, value in estimator._tensors().items()}


def refuse_differences(read: dict[str, Tensor], restored: dict[str, Tensor]) -> None:
    """Check that an estimator would save the very tensors it was made of: the same names, types and shapes."""
    for name in sorted(set(read) | set(restored)):
        if name not in read or name not in restored:
            raise ModelFileError(f"its tensor {name!r} is missing or unknown")
        if read[name].dtype != restored[name].dtype or read[name].shape != restored[name].shape:
            raise ModelFileError(f"its tensor {name!r} has the wrong type or shape")


def first_line(error: Exception) -> str:
    """Return what an error says, in one line."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def known_estimators() -> dict[str, type[Detector]]:
    """Return the estimators a file may hold, by class name."""
    import gditd  # noqa: PLC0415 - estimators import this module to save themselves
    from gditd import detectors  # noqa: PLC0415

    found = {name: getattr(detectors, name) for name in detectors.__all__ if name != "Detector"}
    return found | {"GDITDClassifier": gditd.GDITDClassifier}


def saved_parameters(estimator: Detector) -> dict[str, Any]:
    """Return the constructor settings that belong to the model."""
    return {name: value for name, value in estimator.get_params(deep=False).items() if name not in NOT_SAVED}


def plain_setting(name: str, value: Any) -> Any:
    """Turn a setting into JSON; callables are only named, a generator's state is not kept."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list) and all(isinstance(item, str) for item in value):
        return list(value)
    if name == "random_state":
        return None
    if callable(value):
        return {"callable": getattr(value, "__qualname__", type(value).__name__)}
    raise ModelFileError(f"cannot save the setting {name}={value!r}: only numbers, texts and None can be saved")


def describe_labels(classes: NDArray[Any]) -> dict[str, Any]:
    """Describe class labels so that they come back with the same type."""
    values = classes.tolist()
    if not all(isinstance(value, bool | int | float | str) for value in values):
        raise ModelFileError("cannot save class labels other than numbers, texts and booleans")
    if classes.dtype.itemsize > LONGEST_LABEL * np.dtype("U1").itemsize:
        raise ModelFileError(f"cannot save class labels of more than {LONGEST_LABEL} characters")
    return {"dtype": classes.dtype.str, "values": values}


def restore_labels(described: dict[str, Any]) -> NDArray[Any]:
    """Undo :func:`describe_labels`."""
    dtype, values = np.dtype(described["dtype"]), described["values"]
    if dtype.kind not in "biufUO":
        raise ModelFileError(f"its class labels have the unknown type {described['dtype']!r}")
    if dtype.itemsize > LONGEST_LABEL * np.dtype("U1").itemsize:
        raise ModelFileError("its class labels are too long")
    classes = np.array(values, dtype=dtype)
    if classes.ndim != 1 or len(classes) == 0 or classes.tolist() != values:
        raise ModelFileError("its class labels are damaged")
    return classes


def feature_names(estimator: Detector) -> list[str] | None:
    """Return the column names seen in fit, if there were any."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]
