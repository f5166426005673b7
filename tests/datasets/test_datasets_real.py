"""The publishers' own files: their counts, and a few values that a wrong parse would change."""

import numpy as np
import pytest

from gditd.datasets import load_dataset

pytestmark = pytest.mark.data


def test_gas(real_data):
    dataset = load_dataset("gas", real_data)
    assert dataset.X.shape == (13_910, 128)
    assert list(dataset.class_counts().values()) == [2565, 2926, 1641, 1936, 3009, 1833]
    rows = [445, 1244, 1586, 161, 197, 2300, 3613, 294, 470, 3600]
    assert np.bincount(dataset.groups)[1:].tolist() == rows
    assert dataset.class_names[dataset.minority_class] == min(dataset.class_counts(), key=dataset.class_counts().get)
    assert np.isfinite(dataset.X).all()
    np.testing.assert_allclose(dataset.X[0, :3], [15596.1621, 1.868245, 2.371604])


def test_drive(real_data):
    dataset = load_dataset("drive", real_data)
    per_class = set(dataset.class_counts().values())
    assert per_class in ({200}, {5319})
    assert dataset.X.shape == (11 * per_class.pop(), 48)


def test_mnist(real_data):
    dataset = load_dataset("mnist", real_data)
    assert dataset.X.shape == (70_000, 784)
    assert (dataset.X.min(), dataset.X.max()) == (0, 255)
    assert (dataset.split == "train").sum() == 60_000
    assert dataset.y[:5].tolist() == [5, 0, 4, 1, 9]
    # The mean pixel of the training images, known to every user of MNIST as 0.1307 of white.
    np.testing.assert_allclose(dataset.X[:60_000].mean(dtype=np.float64) / 255, 0.1307, atol=5e-5)


def test_nsl_kdd(real_data):
    dataset = load_dataset("nsl-kdd", real_data)
    assert dataset.X.shape == (148_517, 41)
    train = dataset.split == "train"
    counts = [(dataset.y[train] == name).sum() for name in dataset.class_names]
    assert counts == [67343, 45927, 11656, 995, 52]
    attack = dataset.extra["attack"]
    new = ~np.isin(attack, attack[train])
    assert (len(np.unique(attack[new])), new.sum()) == (17, 3750)
    assert set(dataset.X["protocol_type"]) == {"tcp", "udp", "icmp"}
    rates = dataset.X.filter(like="_rate")
    assert rates.min(axis=None) == 0
    assert rates.max(axis=None) == 1


def test_shuttle(real_data):
    dataset = load_dataset("shuttle", real_data)
    assert dataset.X.shape == (58_000, 9)
    assert (dataset.split == "train").sum() == 43_500
    assert list(dataset.class_counts().values()) == [45586, 50, 171, 8903, 3267, 10, 13]


def test_folder_from_the_variable(real_data):
    assert load_dataset("shuttle").name == "shuttle"
