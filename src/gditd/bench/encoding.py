"""Rows of a cell as every method but the package's own classifier takes them: encoded and z-scored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from gditd.bench.protocol import Cell, Split, split
from gditd.bench.tables import BenchTable, Rows
from gditd.tables import TableEncoder

Codes = NDArray[np.int64]
Encoded = NDArray[np.float32]


class PlainNumbers:
    """Z-scores of every column, for tables of numbers without gaps: what the paper does, and its readers.

    A column that is constant in training stays, in its own unit; the package's own encoder would leave it out.
    """

    def __init__(self, table: pa.Table) -> None:
        self.scaler = StandardScaler().fit(as_array(table))
        self.width = table.num_columns

    @staticmethod
    def fits(table: pa.Table) -> bool:
        """Whether a table has nothing but numbers."""
        numbers = all(kinds.is_integer(kind) or kinds.is_floating(kind) for kind in table.schema.types)
        return numbers and bool(np.isfinite(as_array(table)).all())

    def encode(self, table: pa.Table) -> Encoded:
        """Z-scores (n, width)."""
        values: Encoded = self.scaler.transform(as_array(table)).astype(np.float32)
        return values


class AnyColumns:
    """The package's own encoding, for all other tables."""

    def __init__(self, table: pa.Table) -> None:
        self.encoder = TableEncoder(numbers="zscore").fit(table)
        self.width = self.encoder.width

    def encode(self, table: pa.Table) -> Encoded:
        """Encoded rows (n, width)."""
        values: Encoded = self.encoder.transform(table).values.numpy()
        return values


def as_array(table: pa.Table) -> NDArray[np.float64]:
    """Numbers (rows, columns); a gap is NaN."""
    columns = [column.to_numpy().astype(np.float64) for column in table.itercolumns()]
    return np.column_stack(columns)


@dataclass(frozen=True)
class PreparedCell:
    """The rows of a cell and an encoder that has seen its training rows only."""

    cell: Cell
    table: BenchTable
    split: Split
    classes: NDArray[np.str_]  # the known classes, in the order of their numbers
    encoder: PlainNumbers | AnyColumns

    @classmethod
    def of(cls, table: BenchTable, cell: Cell) -> PreparedCell:
        """Split the table and learn its columns."""
        return cls.of_rows(table, cell, split(table, cell))

    @classmethod
    def of_rows(cls, table: BenchTable, cell: Cell, rows: Split) -> PreparedCell:
        """Learn the columns of a table that is split already."""
        known = table.take(rows.train)
        encoder = PlainNumbers(known) if PlainNumbers.fits(table.features) else AnyColumns(known)
        return cls(cell, table, rows, np.unique(table.labels[rows.train]), encoder)

    @property
    def minority(self) -> int:
        """The number of the minority class."""
        classes: list[str] = self.classes.tolist()
        return classes.index(self.cell.minority_class)

    @property
    def test_rows(self) -> Rows:
        """Known rows, then OOD rows."""
        return np.concatenate([self.split.test, self.split.ood])

    def codes(self, rows: Rows) -> Codes:
        """Class numbers; -1 for OOD rows."""
        labels = self.table.labels[rows]
        return np.where(labels == self.cell.ood_class, -1, np.searchsorted(self.classes, labels))

    def encoded(self, rows: Rows, width: int | None = None) -> Encoded:
        """Encoded rows, with columns of zeros up to a width: a network neither sees nor trains on them."""
        values = self.encoder.encode(self.table.take(rows))
        missing = 0 if width is None else width - values.shape[1]
        return np.pad(values, ((0, 0), (0, missing))) if missing else values
