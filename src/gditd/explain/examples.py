"""Known rows to show beside a new one: a sample of the training rows, and the one most like a given row."""

from __future__ import annotations

import datetime
import decimal
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import torch
from torch import Tensor

from gditd.explain.profiles import spread
from gditd.explain.surprise import ColumnMap
from gditd.tables import TableEncoder
from gditd.tables.convert import rows_to_arrow

MOST_EXAMPLES = 2_000
MOST_CELLS = 1_000_000  # of all examples together, so that wide tables stay small
FAR = 4.0  # squared distance beyond which a column says no more about how alike two rows are

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Examples:
    """Training rows as they came, the class of each, and their encoding."""

    table: pa.Table
    codes: Rows
    values: Tensor

    @classmethod
    def draw(cls, table: pa.Table, values: Tensor, codes: Rows, encoder: TableEncoder) -> Examples:
        """Keep a sample in which rare classes are whole before common ones get more."""
        names = [column.name for column in encoder.schema_.used]
        rows = stratified(codes, max(1, min(MOST_EXAMPLES, MOST_CELLS // len(names))))
        return cls(table.select(names).take(pa.array(rows)), codes[rows], values[torch.from_numpy(rows)].clone())

    def nearest(self, values: Tensor, columns: ColumnMap) -> Tensor:
        """The place of the example most like each encoded row (n, width); no column decides it alone."""
        places = [columns.total((self.values - row).square()).clamp_max(FAR).sum(1).argmin() for row in values]
        return torch.stack(places)

    def row(self, place: int) -> dict[str, Any]:
        """One example, in plain values."""
        return {name: plain(cell(column[place])) for name, column in zip(*self._columns(), strict=True)}

    def _columns(self) -> tuple[list[str], list[pa.ChunkedArray]]:
        return self.table.column_names, self.table.columns

    def state(self) -> dict[str, Tensor]:
        """The rows as JSON text in bytes, and their classes."""
        names, columns = self._columns()
        cells = [[plain(cell(scalar)) for scalar in column] for column in columns]
        text = json.dumps({"columns": dict(zip(names, cells, strict=True))})
        rows = torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)
        return {"rows": rows, "codes": torch.from_numpy(self.codes)}

    @classmethod
    def from_state(cls, tensors: dict[str, Tensor], encoder: TableEncoder, n_classes: int) -> Examples:
        """Build the examples that `state` described; rows that the encoder cannot read are refused."""
        codes = tensors["codes"].numpy()
        columns = json.loads(tensors["rows"].numpy().tobytes())["columns"]
        fits = (
            codes.dtype == np.int64
            and codes.ndim == 1
            and 0 < len(codes) <= MOST_EXAMPLES
            and bool(((codes >= 0) & (codes < n_classes)).all())
            and list(columns) == [column.name for column in encoder.schema_.used]
            and all(len(cells) == len(codes) for cells in columns.values())
            and all(isinstance(v, str | int | float | None) for cells in columns.values() for v in cells)
        )
        if not fits:
            raise ValueError("its example rows do not fit its columns and classes")
        table = rows_to_arrow(dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True))
        return cls(table, codes, encoder.transform(table).values)


def stratified(codes: Rows, most: int) -> Rows:
    """At most `most` rows: every class gets the same room, and what small classes leave goes to larger ones."""
    own = sorted((np.flatnonzero(codes == c) for c in np.unique(codes)), key=len)
    kept: list[Rows] = []
    for place, rows in enumerate(own):
        room = most - sum(len(chosen) for chosen in kept)
        kept.append(spread(rows, math.ceil(room / (len(own) - place))))
    return np.sort(np.concatenate(kept))


def cell(scalar: pa.Scalar) -> Any:
    """A cell as it was given; None if it is missing, text if it is a date that Python does not have."""
    try:
        value = scalar.as_py()
    except (ValueError, OverflowError):
        value = str(scalar.cast(pa.string()).as_py())
    if isinstance(value, pd.Timestamp):
        value = value.to_pydatetime(warn=False)
    return None if value == "" or (isinstance(value, float) and math.isnan(value)) else value


def plain(value: Any) -> Any:
    """Turn a cell or a label into what JSON has; missing is None."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, decimal.Decimal):
        value = float(value)
    if value is None or (isinstance(value, float) and not math.isfinite(value)) or value == "":
        return None
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value if isinstance(value, bool | int | float | str) else str(value)
