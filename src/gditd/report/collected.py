"""What a report needs of a table that may be larger than memory: figures of each row, and a bounded number of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gditd import GDITDClassifier
from gditd.inputs import new_table
from gditd.report.drift import DriftWatch
from gditd.report.figures import Scored
from gditd.report.samples import Kept, Sample
from gditd.tables.columns import as_booleans, as_numbers, as_text, as_times

MOST_POINTS = 3_000  # on the map
MOST_CELLS = 2_000_000  # of the rows kept, so that wide tables stay small
MOST_FLAGGED = 50  # rows listed with their reasons


class Collected:
    """Takes rows as they are scored; `sample`, `strangest` and `drift` are what is kept of them."""

    def __init__(self, model: GDITDClassifier) -> None:
        self._model = model
        schema = model.model_.encoder.schema_
        # A model that learned from columns without names wants all of them again, those that it does not use too.
        kept = schema.used if hasattr(model, "feature_names_in_") else schema.columns
        self._kinds = {column.name: column.kind for column in kept}
        groups = len(model.classes_) + 1  # rows of unseen classes are one group
        points = min(MOST_POINTS, max(200, MOST_CELLS // len(self._kinds)))
        self._rng = np.random.default_rng(0)
        self.sample = Sample(max(1, points // groups))
        self.strangest = Sample(MOST_FLAGGED)
        self.drift = DriftWatch(model)

    def add(self, rows: pa.Table, numbers: NDArray[np.int64], scored: Scored, labels: NDArray[Any]) -> None:
        """Look at further rows: with their numbers in the file from 1, what was scored, and their labels in words."""
        table = new_table(self._model, rows)
        # By kind, because text chunks of a CSV hold numbers, and JSON lines may change a column's type on the way.
        columns = [as_kind(table.column(name), kind) for name, kind in self._kinds.items()]
        table = pa.table(columns, names=list(self._kinds))
        self.drift.add(table)
        score = scored.ood_score.astype(np.float64)
        known = (numbers, scored.classes, scored.flagged, score, labels.astype(object))
        self.sample.add(Kept(table, *known, order=self._rng.random(len(numbers))), scored.classes)
        flagged = np.flatnonzero(scored.flagged)
        strange = Kept(table, *known, order=-score).take(flagged)
        self.strangest.add(strange, np.zeros(len(flagged), dtype=np.int64))


def as_kind(column: pa.ChunkedArray, kind: str) -> pa.Array:
    """A column that the model can read, in the one type that columns of its kind have here."""
    if kind == "number":
        return pa.array(as_numbers(column, "")[0], from_pandas=True)
    if kind == "boolean":
        values = as_booleans(column, "")[0]
        return pa.array(values == 1, mask=np.isnan(values))
    return pa.array(as_times(column, "")[0]) if kind == "datetime" else as_text(column)
