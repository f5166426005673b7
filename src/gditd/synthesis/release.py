"""A sensitive table in, a table of mixtures out: Arrow to Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gditd.synthesis.columns import LEAST_ROWS, Column, Values, read_columns
from gditd.synthesis.mixing import NEIGHBOURS, Floats, Rows, plan_mixtures, row_marks
from gditd.tables import TableEncoder, TableError
from gditd.tables.columns import as_text, flat
from gditd.tables.errors import quoted

ROUNDS = 8  # how often a mixture that equals a real row is drawn again, each time from twice as many neighbours
BATCH = 16_384

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Release:
    """The released table, and remarks on what is not in it."""

    table: pa.Table
    notes: list[str]


@dataclass(frozen=True)
class _Real:
    """The real table as the mixing needs it: its columns, where rows are near, and what each row holds."""

    columns: list[Column]
    space: Floats
    marks: NDArray[np.int64]


def release_rows(
    table: pa.Table,
    target: str,
    rng: np.random.Generator,
    *,
    rows: int | None = None,
    neighbours: int = NEIGHBOURS,
    progress: Progress = lambda done, total: None,
) -> Release:
    """Mix every class by itself, in its share of the table."""
    members, notes = class_members(table.column(target), target)
    features = table.drop_columns([target])
    columns = read_columns(features)
    notes += [note for note in (column.note() for column in columns) if note]
    space = TableEncoder().fit(features).transform(features).values.numpy()
    real = _Real(columns, space, row_marks(np.column_stack([column.values for column in columns])))
    wanted = share_out(rows, [len(own) for own in members.values()])
    parts, done = [], 0
    for (label, own), n_rows in zip(members.items(), wanted, strict=True):
        n_released = 0
        for starts in _starts(own, n_rows, rng):
            values, kept = _mixed(real, own, starts, neighbours, rng)
            parts.append((values, kept))
            n_released += len(kept)
            done += len(starts)
            progress(done, sum(wanted))
        notes += _note_on_copies(label, n_rows, n_released)
    return Release(_assembled(table, target, columns, parts, rng), notes)


def class_members(column: pa.ChunkedArray, target: str) -> tuple[dict[str, Rows], list[str]]:
    """The rows of each class that has enough of them, and a note on those that do not."""
    labels = as_text(column)
    if labels.null_count:
        row = int(np.flatnonzero(labels.is_null().to_numpy(zero_copy_only=False))[0]) + 1
        raise TableError(f'column "{target}", row {row}: the class is missing: fill it in, or take the row out')
    coded = labels.dictionary_encode()
    codes = coded.indices.to_numpy()
    members = {label: np.flatnonzero(codes == code) for code, label in enumerate(coded.dictionary.to_pylist())}
    rare = [label for label, own in members.items() if len(own) < LEAST_ROWS]
    if len(rare) == len(members):
        raise TableError(
            f'column "{target}": no class has {LEAST_ROWS} rows, which a release takes: add rows, or join classes'
        )
    notes = [f"not released, as they have fewer than {LEAST_ROWS} rows: classes {quoted(rare)}"] if rare else []
    return {label: own for label, own in members.items() if label not in rare}, notes


def share_out(rows: int | None, counts: list[int]) -> list[int]:
    """How many rows of each class to release: as many as there are, or `rows` in all in the same proportions."""
    if rows is None:
        return counts
    if rows < len(counts):
        raise ValueError(f"{rows} rows are too few for {len(counts)} classes: ask for at least one each")
    exact = np.array(counts) / sum(counts) * rows
    wanted = np.maximum(np.floor(exact), 1).astype(int)
    while wanted.sum() != rows:  # a few steps at most: what rounding left over, or what single rows took
        step = 1 if wanted.sum() < rows else -1
        place = int(np.argmax(np.where((wanted > 1) | (step > 0), step * (exact - wanted), -np.inf)))
        wanted[place] += step
    return [int(number) for number in wanted]


def _starts(members: Rows, n_rows: int, rng: np.random.Generator) -> Iterator[Rows]:
    """The real rows to start from, each as often as any other or once more, in batches."""
    rounds = [rng.permutation(members) for _ in range(-(-n_rows // len(members)))]
    starts = np.concatenate(rounds)[:n_rows]
    for place in range(0, n_rows, BATCH):
        yield starts[place : place + BATCH]


def _mixed(real: _Real, members: Rows, starts: Rows, neighbours: int, rng: np.random.Generator) -> tuple[Values, Rows]:
    """Mixtures (n, columns) and the rows they start from; those that equal a real row however drawn are left out."""
    mixed = np.empty((len(starts), len(real.columns)))
    waiting = np.arange(len(starts))
    for attempt in range(ROUNDS):
        mixtures = plan_mixtures(real.space, members, starts[waiting], rng, neighbours=neighbours << attempt)
        for place, column in enumerate(real.columns):
            mixed[waiting, place] = column.mixed(mixtures, members, rng)
        waiting = waiting[np.isin(row_marks(mixed, waiting), real.marks)]
        if len(waiting) == 0:
            break
    return np.delete(mixed, waiting, axis=0), np.delete(starts, waiting)


def _note_on_copies(label: str, wanted: int, released: int) -> list[str]:
    """Say how many rows are lacking, if any."""
    if released == 0:
        raise TableError(
            f'class "{label}": every mixture of its rows equals a real row, so nothing can be released of it: '
            "its columns have too few different values; take the class out, or add columns"
        )
    if released == wanted:
        return []
    return [
        f'class "{label}": {wanted - released:,} of {wanted:,} rows are left out, as every mixture drawn for them '
        "equals a real row: its columns have few different values"
    ]


def _assembled(
    table: pa.Table,
    target: str,
    columns: list[Column],
    parts: list[tuple[Values, Rows]],
    rng: np.random.Generator,
) -> pa.Table:
    """The released rows in a new order, as the old one would tell which real rows they come from."""
    values = np.concatenate([part for part, _ in parts])
    starts = np.concatenate([part for _, part in parts])
    order = rng.permutation(len(values))
    arrays = {column.name: column.arrow(values[order, place]) for place, column in enumerate(columns)}
    arrays[target] = _labels(table, target, starts[order])
    return pa.table({name: arrays[name] for name in table.column_names})


def _labels(table: pa.Table, target: str, rows: Rows) -> pa.Array:
    """The classes of rows; a dictionary would also name those that are not released."""
    if pa.types.is_dictionary(table.column(target).type):
        column = read_columns(table.select([target]))[0]
        return column.arrow(column.values[rows])
    return flat(table.column(target)).take(pa.array(rows)).cast(table.column(target).type)
