"""Two small tables that come with scikit-learn: handwritten digits of 8 x 8 pixels, and wines by their chemistry."""

from __future__ import annotations

from typing import Any

from sklearn.datasets import load_digits, load_wine

from gditd.datasets.base import DataFolder, Dataset, Sources


def digits(data: DataFolder = None) -> Dataset:
    """1,797 digits of 64 pixels, ten classes of about equal size; nothing is read from `data`."""
    return shipped(
        "digits",
        load_digits(),
        "Optical Recognition of Handwritten Digits. UCI Machine Learning Repository, CC BY 4.0.",
    )


def wine(data: DataFolder = None) -> Dataset:
    """178 wines of three growers, 13 measurements each; nothing is read from `data`."""
    return shipped("wine", load_wine(), "Wine, Forina et al. UCI Machine Learning Repository, CC BY 4.0.")


def shipped(name: str, table: Any, source: str) -> Dataset:
    """A table of scikit-learn's, its first class held out by default and its second made rarer."""
    return Dataset(
        name=name,
        X=table.data,
        y=table.target.astype("int64"),
        class_names=tuple(str(label) for label in table.target_names),
        feature_names=tuple(table.feature_names),
        ood_class=0,
        minority_class=1,
        source=source,
    )


DIGITS: Sources = {"scikit-learn": digits}
WINE: Sources = {"scikit-learn": wine}
