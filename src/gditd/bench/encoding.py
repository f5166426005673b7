"""Rows of a cell as every method but the package's own classifier takes them: encoded and z-scored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gditd.bench.protocol import Cell, Split, split
from gditd.bench.tables import BenchTable, Rows
from gditd.tables import TableEncoder

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class PreparedCell:
    """The rows of a cell and an encoder that has seen its training rows only."""

    cell: Cell
    table: BenchTable
    split: Split
    classes: NDArray[np.str_]  # the known classes, in the order of their numbers
    encoder: TableEncoder

    @classmethod
    def of(cls, table: BenchTable, cell: Cell) -> PreparedCell:
        """Split the table and learn its columns."""
        rows = split(table, cell)
        encoder = TableEncoder(numbers="zscore").fit(table.take(rows.train))
        return cls(cell, table, rows, np.unique(table.labels[rows.train]), encoder)

    @property
    def minority(self) -> int:
        """The number of the minority class."""
        return int(np.searchsorted(self.classes, self.cell.minority_class))

    @property
    def test_rows(self) -> Rows:
        """Known rows, then OOD rows."""
        return np.concatenate([self.split.test, self.split.ood])

    def codes(self, rows: Rows) -> Codes:
        """Class numbers; -1 for OOD rows."""
        labels = self.table.labels[rows]
        return np.where(labels == self.cell.ood_class, -1, np.searchsorted(self.classes, labels))

    def encoded(self, rows: Rows, width: int | None = None) -> NDArray[np.float32]:
        """Encoded rows, with columns of zeros up to a width: a network neither sees nor trains on them."""
        values: NDArray[np.float32] = self.encoder.transform(self.table.take(rows)).values.numpy()
        missing = 0 if width is None else width - values.shape[1]
        return np.pad(values, ((0, 0), (0, missing))) if missing else values
