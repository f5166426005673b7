"""A generated table shaped like the forest cover types of Colorado: terrain, soils, seven unequal kinds of wood.

Each kind of wood grows in two habitats of its own and, here and there, in two that it shares with the kinds beside
it, so that no method can tell all rows apart. A habitat has its own ranges of the ten terrain numbers, which hang
together in their own way, and its own shares of the four areas and the forty soils.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gditd.datasets.base import Dataset, DatasetError, Sources

N_ROWS = 20_000
CLASS_NAMES = ("spruce", "lodgepole", "ponderosa", "cottonwood", "aspen", "douglas-fir", "krummholz")
CLASS_SHARES = (0.365, 0.485, 0.06, 0.01, 0.02, 0.03, 0.03)
N_TERRAIN, N_AREAS, N_SOILS = 10, 4, 40
N_HABITATS = 3 * len(CLASS_NAMES)
SHARES_OF_HABITATS = (0.45, 0.45, 0.05, 0.05)  # two of its own, and the borders with the kinds before and after


def make_woodland(n_rows: int = N_ROWS, *, random_state: int = 0) -> Dataset:
    """Generate the table; the same seed gives the same table."""
    if n_rows < 1_000:
        raise DatasetError(
            f"woodland: n_rows must be at least 1000, got {n_rows}: its rarest class is one in a hundred"
        )
    rng = np.random.default_rng(random_state)
    y = rng.permutation(np.repeat(np.arange(len(CLASS_NAMES)), class_sizes(n_rows)))
    habitat = drawn_habitats(y, rng)
    columns = {**terrain(habitat, rng), **indicators("area", habitat, N_AREAS, rng)}
    columns |= indicators("soil", habitat, N_SOILS, rng)
    return Dataset(
        name="woodland",
        X=pd.DataFrame(columns),
        y=y,
        class_names=CLASS_NAMES,
        feature_names=tuple(columns),
        ood_class=0,
        minority_class=2,
        source="Generated, in the shape of UCI Covertype.",
    )


def class_sizes(n_rows: int) -> NDArray[np.int64]:
    """Rows of each class; the largest takes what rounding leaves over."""
    sizes = np.round(np.array(CLASS_SHARES) * n_rows).astype(np.int64)
    sizes[1] += n_rows - sizes.sum()
    return sizes


def drawn_habitats(y: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """The habitat of each row: first come those of one kind of wood, then the borders between two."""
    n_classes = len(CLASS_NAMES)
    own = np.stack([2 * y, 2 * y + 1, 2 * n_classes + y, 2 * n_classes + (y + 1) % n_classes], axis=1)
    choice = rng.choice(len(SHARES_OF_HABITATS), size=len(y), p=SHARES_OF_HABITATS)
    picked: NDArray[np.int64] = own[np.arange(len(y)), choice]
    return picked


def terrain(habitat: NDArray[np.int64], rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    """Ten numbers that hang together differently in each habitat."""
    centres = rng.normal(scale=1.5, size=(N_HABITATS, N_TERRAIN))
    mixing = np.eye(N_TERRAIN) + rng.normal(scale=0.4, size=(N_HABITATS, N_TERRAIN, N_TERRAIN))
    noise = rng.normal(size=(len(habitat), N_TERRAIN))
    values = centres[habitat] + np.einsum("nd,nde->ne", noise, mixing[habitat])
    return {f"terrain_{number}": np.round(column, 3) for number, column in enumerate(values.T)}


def indicators(
    name: str, habitat: NDArray[np.int64], n_values: int, rng: np.random.Generator
) -> dict[str, NDArray[np.int64]]:
    """One column of 0 and 1 for each value; a habitat has a few frequent ones."""
    shares = rng.dirichlet(np.full(n_values, 0.15), size=N_HABITATS).cumsum(axis=1)
    picked = (rng.random((len(habitat), 1)) > shares[habitat]).sum(axis=1).clip(max=n_values - 1)
    return {f"{name}_{value}": (picked == value).astype(np.int64) for value in range(n_values)}


SOURCES: Sources = {"generated": lambda data: make_woodland()}
