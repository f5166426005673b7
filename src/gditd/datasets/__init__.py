"""The public tables of the paper and others: publishers' original files, generated tables, and small ones."""

from gditd.datasets.base import Dataset, DatasetError
from gditd.datasets.disputes import make_disputes
from gditd.datasets.registry import dataset_names, load_dataset

__all__ = ["Dataset", "DatasetError", "dataset_names", "load_dataset", "make_disputes"]
