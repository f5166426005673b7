"""The one list of data sets, and the function that loads one of them."""

from __future__ import annotations

from collections.abc import Mapping

from gditd.datasets import disputes, drive, gas, mnist, nsl_kdd, shuttle, small, woodland
from gditd.datasets.base import DataFolder, Dataset, DatasetError, Sources

_DATASETS: Mapping[str, Sources] = {
    "gas": gas.SOURCES,
    "drive": drive.SOURCES,
    "mnist": mnist.SOURCES,
    "nsl-kdd": nsl_kdd.SOURCES,
    "shuttle": shuttle.SOURCES,
    "disputes": disputes.SOURCES,
    "digits": small.DIGITS,
    "wine": small.WINE,
    "woodland": woodland.SOURCES,
}


def dataset_names() -> tuple[str, ...]:
    """Names that `load_dataset` accepts."""
    return tuple(_DATASETS)


def load_dataset(name: str, data: DataFolder = None, *, source: str | None = None) -> Dataset:
    """Load a data set and verify that it is complete.

    Parameters
    ----------
    name : one of `dataset_names()`.
    data : the folder with the publisher's files; by default the one that the variable GDITD_DATA names. "disputes"
        (also in other sizes: `make_disputes`) and "woodland" are generated, "digits" and "wine" come with
        scikit-learn: these need none.
        With `source="openml"`, the folder in which scikit-learn keeps its downloads.
    source : "files" reads the publisher's files and never downloads; "openml" downloads the copy on OpenML,
        where there is one. By default the first source of the data set.

    Raises
    ------
    DatasetError
        If a file is missing, unreadable, not in the publisher's format or not complete, or the name or the
        source is unknown.
    """
    if name not in _DATASETS:
        raise DatasetError(f"unknown data set '{name}'; known are {', '.join(_DATASETS)}")
    sources = _DATASETS[name]
    chosen = next(iter(sources)) if source is None else source
    if chosen not in sources:
        raise DatasetError(f"{name} has no source '{chosen}'; it can be loaded from {', '.join(sources)}")
    return sources[chosen](data)
