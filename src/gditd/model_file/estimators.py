"""Estimators to model files and back."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gditd.atomic import write_atomically
from gditd.model_file.container import pack, read_bytes, unpack
from gditd.model_file.errors import ModelFileError, what_is_wrong
from gditd.model_file.signing import add_signature, check_signature, public_key

if TYPE_CHECKING:
    from gditd.detectors.base import Detector
    from gditd.model_file.signing import PrivateKey, PublicKey

Tensors = dict[str, Tensor | NDArray[Any]]

# Texts are stored at the width of the longest one, so one absurd width would fill the memory.
LONGEST_LABEL = 10_000
LARGEST_LABELS = 64 << 20  # bytes, all labels together

MAY_BE_WILD = ("explainer.quantiles", "calibrator.scores")  # no value at all; a row stranger than any number

# Settings of the run, not of the model.
NOT_SAVED = ("device", "progress", "n_jobs")


def save_model(estimator: Detector, path: str | PathLike[str], *, key: PrivateKey | None = None) -> None:
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
    data = pack(document, tensors_of(estimator))
    if key is not None:
        add_signature(data, key)
    write_atomically(Path(path), lambda temporary: temporary.write_bytes(data))


def load(
    path: str | PathLike[str],
    *,
    backbone: Callable[[int], torch.nn.Module] | None = None,
    verify: PublicKey | None = None,
) -> Any:
    """Read a model written by `save`.

    A model whose backbone was a callable of yours does not contain it: hand the same callable in as `backbone`. With
    `verify`, the PEM file of a public key, only a model that was signed with its private key is read.
    """
    path = Path(path)
    key = None if verify is None else public_key(verify)
    try:
        data = read_bytes(path)
        if key is not None:
            check_signature(data, key)  # before anything in the file is interpreted
        return rebuild(*unpack(data), backbone)
    except ModelFileError as error:
        raise ModelFileError(f"cannot load {path}: {error}") from None
    except Exception as error:  # what a made-up file says may break any step of rebuilding
        raise ModelFileError(f"cannot load {path}: it is damaged or incomplete ({what_is_wrong(error)})") from error


def rebuild(document: Any, tensors: dict[str, Tensor], backbone: Callable[[int], torch.nn.Module] | None) -> Detector:
    """Make the estimator a document describes and give it its tensors."""
    if not isinstance(document, dict):
        raise ModelFileError("its document is damaged")
    estimator_class = known_estimators().get(document["estimator"])
    if estimator_class is None:
        raise ModelFileError(f"it holds a {document['estimator']!r}, which this gditd does not know")
    parameters = settings_in(document["parameters"], estimator_class)
    if isinstance(parameters.get("backbone"), dict):
        if backbone is None:
            name = parameters["backbone"].get("callable", "a callable")
            raise ModelFileError(f"its network was made by {name}: hand that callable in, load(path, backbone=...)")
        parameters["backbone"] = backbone
    estimator: Detector = estimator_class(**parameters)
    estimator.classes_ = restore_labels(document["classes"])
    estimator.n_features_in_ = n_features_in(document["n_features"])
    if document["feature_names"] is not None:
        names = [str(name) for name in document["feature_names"]]
        if len(names) != estimator.n_features_in_:
            raise ModelFileError("its column names do not fit its number of columns")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    refuse_wild_numbers(tensors)
    estimator._restore(dict(tensors), document["learned"])
    estimator._try_out()
    refuse_differences(tensors, tensors_of(estimator))
    return estimator


def settings_in(described: Any, estimator_class: type[Detector]) -> dict[str, Any]:
    """Return the settings of a document: none but those that are saved, and of no other kind than was saved."""
    known = [name for name in estimator_class._get_param_names() if name not in NOT_SAVED]
    for name, value in described.items():
        if name not in known:
            raise ModelFileError(f"it has a setting {name!r}, which this gditd does not know")
        if not (is_plain(value) or (name == "backbone" and isinstance(value, dict))):
            raise ModelFileError(f"its setting {name!r} is damaged")
    return {**described}


def n_features_in(described: Any) -> int:
    """Return the number of columns that a document names."""
    if not isinstance(described, int) or isinstance(described, bool) or described < 1:
        raise ModelFileError("its number of columns, n_features, is damaged")
    return described


def is_plain(value: Any) -> bool:
    """Whether a value is one that a setting is saved as."""
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return value is None or isinstance(value, bool | int | float | str)


def refuse_wild_numbers(tensors: dict[str, Tensor]) -> None:
    """Refuse numbers that are none or infinite, except where they mean something: comparisons would let them pass."""
    for name, tensor in tensors.items():
        if name not in MAY_BE_WILD and tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise ModelFileError(f"its tensor {name!r} holds what is no finite number")


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
    value = list(value) if isinstance(value, tuple) else value
    if is_plain(value):
        return value
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
    if too_large(classes.dtype, len(classes)):
        raise ModelFileError(
            f"cannot save class labels of more than {LONGEST_LABEL} characters, or so many long ones: shorten them"
        )
    return {"dtype": classes.dtype.str, "values": values}


def restore_labels(described: dict[str, Any]) -> NDArray[Any]:
    """Undo :func:`describe_labels`."""
    dtype, values = np.dtype(described["dtype"]), described["values"]
    if dtype.kind not in "biufUO":
        raise ModelFileError(f"its class labels have the unknown type {described['dtype']!r}")
    if not isinstance(values, list) or too_large(dtype, len(values)):
        raise ModelFileError("its class labels are too long")
    try:
        classes = np.array(values, dtype=dtype)
    except (ValueError, TypeError, OverflowError):
        raise ModelFileError("its class labels are damaged") from None
    if classes.ndim != 1 or len(classes) == 0 or classes.tolist() != values:
        raise ModelFileError("its class labels are damaged")
    return classes


def too_large(dtype: np.dtype[Any], count: int) -> bool:
    """Whether labels would take more memory than any real ones do."""
    return dtype.itemsize > LONGEST_LABEL * np.dtype("U1").itemsize or dtype.itemsize * count > LARGEST_LABELS


def feature_names(estimator: Detector) -> list[str] | None:
    """Return the column names seen in fit, if there were any."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]
