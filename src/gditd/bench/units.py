"""Pieces of work: cells of one architecture that train as one cohort, or one cell of a method that trains alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from gditd.bench.experiment import Experiment
from gditd.bench.methods import method
from gditd.bench.protocol import Cell

LARGEST_COHORT = 6  # beyond it, more members in one cohort hardly pay off
MEMORY_SHARE = 1 / 8  # of the machine's memory that the tables of all cohorts may take; copies need several times that

EPOCHS = 100  # what methods train for by themselves, to guess how long work takes


@dataclass(frozen=True)
class Unit:
    """Methods that share their networks, on cells whose networks train together."""

    experiment: Experiment
    cells: tuple[Cell, ...]
    methods: tuple[str, ...]
    cost: float
    """About how long it takes, in any unit: only shares matter."""


def make_units(
    experiment: Experiment, wanted: Iterable[tuple[Cell, str]], *, n_rows: int, n_columns: int, workers: int
) -> list[Unit]:
    """Pack what is wanted into units, small enough that all workers have something to do.

    `n_rows` is how many rows a cell trains on, `n_columns` the table's columns.
    """
    units = []
    for pairs in by_training(experiment, wanted).values():
        cells_of: dict[Cell, list[str]] = {}
        for cell, name in pairs:
            cells_of.setdefault(cell, []).append(name)
        # Cells that lack the same methods go together: a resumed run may lack some of them here and there.
        ordered = sorted(cells_of.items(), key=lambda item: item[1])
        for methods, group in groupby(ordered, key=lambda item: tuple(item[1])):
            cells = [cell for cell, _ in group]
            together = method(methods[0]).kind == "network"
            size = cohort_size(len(cells), n_rows * n_columns, workers) if together else 1
            cost = unit_cost(experiment, methods, n_rows, n_columns)
            units += [
                Unit(experiment, tuple(part), methods, cost * len(part))
                for part in evenly(cells, -(-len(cells) // size))
            ]
    return units


def by_training(experiment: Experiment, wanted: Iterable[tuple[Cell, str]]) -> dict[Any, list[tuple[Cell, str]]]:
    """Sort by what trains alike; methods that train alone are kept apart by their names."""
    groups: dict[Any, list[tuple[Cell, str]]] = {}
    for cell, name in wanted:
        chosen = method(name)
        # Members of one cohort have equal numbers of classes: so they must have the same OOD class.
        key = (cell.ood_class, chosen.make(0, experiment.epochs).training_key()) if chosen.kind == "network" else name
        groups.setdefault(key, []).append((cell, name))
    return groups


def cohort_size(n_cells: int, n_values: int, workers: int) -> int:
    """How many cells train as one cohort."""
    values_at_once = MEMORY_SHARE * memory_bytes() / 4 / workers
    by_memory = max(int(values_at_once / max(n_values, 1)), 1)
    by_workers = -(-n_cells // workers)
    return min(LARGEST_COHORT, by_memory, by_workers)


def memory_bytes() -> int:
    """The machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def evenly(items: Sequence[Cell], n_parts: int) -> list[Sequence[Cell]]:
    """Cut into parts of nearly equal length."""
    bounds = [round(part * len(items) / n_parts) for part in range(n_parts + 1)]
    return [items[start:end] for start, end in pairwise(bounds)]


def unit_cost(experiment: Experiment, methods: tuple[str, ...], n_rows: int, n_columns: int) -> float:
    """Guess the cost of one cell."""
    kind = method(methods[0]).kind
    epochs = experiment.epochs or EPOCHS
    one_network = n_rows * epochs * (n_columns + 400)
    return {"network": one_network, "table": 5 * one_network, "rows": n_rows * 40 * (n_columns + 400)}[kind]
