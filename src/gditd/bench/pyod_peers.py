"""Outlier detectors of PyOD, found by name; PyOD is imported only when one is asked for."""

from __future__ import annotations

import inspect
import pkgutil
import sys
from contextlib import redirect_stdout
from copy import deepcopy
from importlib import import_module
from types import ModuleType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gditd.detectors.base import FloatArray

PREFIX = "pyod:"

# Modules of PyOD that hold no detector of plain rows: graphs, time series, sound, and what detectors are built from.
OTHER_PREFIXES = ("_", "pyg_", "ts_", "base", "sklearn_")
OTHER_MODULES = {"audio_ae", "combination", "embedding", "gaal_base", "so_gaal_new", "thresholds"}


class PeerError(ValueError):
    """A method cannot be had; the one-line message names the cause and the cure."""


class PyodOutliers:
    """A PyOD detector on all known rows without their labels; it names no class.

    All rows are scored in one call, as PyOD means it: some of its detectors, ECOD and COPOD among them, rank the rows
    of the call together with the training rows, so that a row's score depends on its company. Smaller calls would
    give other scores, and would rank the training rows anew for each. Where a test set is full of OOD rows, such a
    detector finds them less strange than it would find one of them alone.
    """

    fitted_: Any
    columns_: NDArray[np.bool_]

    def __init__(self, detector: Any) -> None:
        self.detector = detector

    def fit(self, X: FloatArray, y: NDArray[np.int64]) -> Self:
        """Fit the detector; y is not looked at."""
        self._fit_columns(X, np.ones(X.shape[1], dtype=bool))
        if not np.isfinite(self.fitted_.decision_scores_).all():
            # Some, such as PCA, divide by the spread of each column, and an encoded table may have constant ones.
            self._fit_columns(X, np.ptp(X, axis=0) > 0)
        return self

    def ood_score(self, X: FloatArray) -> FloatArray:
        """PyOD's own score: higher = stranger."""
        with redirect_stdout(sys.stderr):
            scores = as_float64(self.fitted_.decision_function(as_float64(X[:, self.columns_])))
        refuse_infinite(scores, type(self.fitted_).__name__)
        return scores

    def _fit_columns(self, X: FloatArray, columns: NDArray[np.bool_]) -> None:
        detector = deepcopy(self.detector)  # fitted anew, some would still count the rows of the last time
        # Infinite scores are looked for afterwards, and stdout is for results, not for how training goes.
        with np.errstate(divide="ignore", invalid="ignore"), redirect_stdout(sys.stderr):
            detector.fit(as_float64(X[:, columns]))
        self.fitted_, self.columns_ = detector, columns


def as_float64(values: FloatArray) -> NDArray[np.float64]:
    """In float32, PyOD's PCA gives infinite scores where columns nearly repeat each other."""
    return np.asarray(values, dtype=np.float64)


def refuse_infinite(scores: FloatArray, name: str) -> None:
    """Name the first row without a finite score."""
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        raise PeerError(
            f"{PREFIX}{name} gives row {bad[0] + 1} the score {scores[bad[0]]}, which happens where columns "
            "repeat each other: leave such columns out, or choose another detector"
        )


def pyod_peer(name: str, seed: int) -> PyodOutliers:
    """Make a detector at PyOD's defaults from its name in any case; it gets the seed if it takes one."""
    detector_class = find_detector(name)
    parameters = inspect.signature(detector_class).parameters
    required = [key for key, p in parameters.items() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    if required:
        needed = ", ".join(required)
        raise PeerError(
            f"{PREFIX}{name} cannot be made from its name alone, it needs {needed}: choose another detector"
        )
    return PyodOutliers(detector_class(**({"random_state": seed} if "random_state" in parameters else {})))


def find_detector(name: str) -> type[Any]:
    """Find a detector's class; neither case nor underscores count."""
    modules = {plain(module): module for module in detector_modules()}
    if plain(name) not in modules:
        known = ", ".join(modules.values())
        raise PeerError(f"PyOD has no detector '{name}' of plain rows; known are, after {PREFIX}, {known}")
    module = load_module(modules[plain(name)])
    own = [found for found in vars(module).values() if inspect.isclass(found) and found.__module__ == module.__name__]
    return next(found for found in own if plain(found.__name__) == plain(name))


def detector_modules() -> list[str]:
    """Names of PyOD's modules that hold a detector of plain rows."""
    names = [module.name for module in pkgutil.iter_modules(load_module("").__path__)]
    return [name for name in names if not name.startswith(OTHER_PREFIXES) and name not in OTHER_MODULES]


def load_module(name: str) -> ModuleType:
    """Import a module of pyod.models, or that package itself for ""."""
    try:
        with redirect_stdout(sys.stderr):
            return import_module(f"pyod.models.{name}".rstrip("."))
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "pyod":
            raise PeerError("PyOD is not installed: pip install gditd[bench]") from error
        raise PeerError(
            f"{PREFIX}{name} needs {error.name}, which is not installed: pip install {error.name}"
        ) from error


def plain(name: str) -> str:
    """A name without case and underscores."""
    return name.lower().replace("_", "")
