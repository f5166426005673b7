"""Verdicts as columns behind a table's own: what every way to write them has in common."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gditd.calibration import OOD
from gditd.classifier import GDITDClassifier
from gditd.tables import TableError
from gditd.tables.errors import quoted
from gditd.tables.typed import pointed, typed

EXPLAINED_AT_ONCE = 1_024  # explaining needs many times a row's own memory


@dataclass
class Tally:
    """How many rows are most like each class, how many of those are OOD, and how many rows could not be read."""

    rows_of: Counter[str] = field(default_factory=Counter)
    ood_of: Counter[str] = field(default_factory=Counter)
    unread: int = 0

    @property
    def rows(self) -> int:
        """All rows."""
        return self.rows_of.total()

    @property
    def flagged(self) -> int:
        """Those called OOD."""
        return self.ood_of.total()

    def add(self, other: Tally) -> None:
        """Count another table's rows too."""
        self.rows_of.update(other.rows_of)
        self.ood_of.update(other.ood_of)
        self.unread += other.unread


@dataclass(frozen=True)
class Judged:
    """A table with its verdicts, and the tally of them."""

    table: pa.Table
    tally: Tally


class VerdictColumns:
    """Adds verdicts to tables: verdict, known_class, p_value, ood_score.

    Where the model is to call rows OOD that cannot be read (its `on_error`), also error, which says why; with
    `n_reasons`, also reason: so many columns that most make an OOD row unusual.
    """

    def __init__(self, model: GDITDClassifier, alpha: float | None = None, n_reasons: int | None = None) -> None:
        self._model, self._alpha, self._n_reasons = model, alpha, n_reasons
        self._classes = pa.array([*map(str, model.classes_.tolist()), "OOD"], pa.string())
        self.kinds = {column["column"]: column["kind"] for column in model.summary()["columns"]}
        self.names = ["verdict", "known_class", "p_value", "ood_score"]
        self.names += ["error"] if model.on_error == "ood" else []
        self.names += ["reason"] if n_reasons is not None else []

    def refuse_taken(self, names: list[str]) -> None:
        """Refuse a table that has a column of these names already."""
        taken = [name for name in names if name in self.names]
        if taken:
            raise TableError(
                f"the table already has a column {quoted(taken)}, which predict adds: rename it, or take it out"
            )

    def added_to(self, table: pa.Table, rows_before: int = 0) -> Judged:
        """The table with its verdicts; `rows_before` is how many rows of the same file came before it."""
        self.refuse_taken(table.column_names)
        # Between cells that commas separate, a number with a decimal comma would not be read as one again.
        table = pointed(table, self.kinds)
        # As arrays: the frame that `verdict` makes of them would take a tenth of all the time.
        encoded = self._model._encode(table, rows_before)
        judged = self._model._judge(encoded, self._alpha)
        is_ood = judged.winners == OOD
        known_class = self._classes.take(pa.array(judged.known_class))
        columns = {
            "verdict": self._classes.take(pa.array(np.where(is_ood, len(self._classes) - 1, judged.winners))),
            "known_class": known_class,
            "p_value": pa.array(judged.p_value, from_pandas=True),
            "ood_score": pa.array(judged.ood_score),
        }
        if "error" in self.names:
            columns["error"] = pa.array([encoded.row_errors.get(row) for row in range(len(is_ood))], pa.string())
        if self._n_reasons is not None:
            columns["reason"] = pa.array(self._reasons(table, is_ood, encoded.row_errors), pa.string())
        for name in self.names:
            table = table.append_column(name, columns[name])
        return Judged(table, counted(known_class, is_ood, len(encoded.row_errors)))

    def _reasons(self, table: pa.Table, is_ood: NDArray[np.bool_], errors: dict[int, str]) -> list[str | None]:
        """The columns that make OOD rows unusual, or why a row could not be read; nothing for known rows."""
        assert self._n_reasons is not None
        reasons: list[str | None] = [None] * len(is_ood)
        places = np.flatnonzero(is_ood)
        for start in range(0, len(places), EXPLAINED_AT_ONCE):
            here = places[start : start + EXPLAINED_AT_ONCE]
            explained = self._model.explain(typed(table.take(here), self.kinds), n_columns=self._n_reasons)
            for place, explanation in zip(here.tolist(), explained, strict=True):
                texts = [" ".join(str(reason).split()) for reason in explanation.columns]
                reasons[place] = errors.get(place) or "; ".join(texts)
        return reasons


def counted(known_class: pa.Array, is_ood: NDArray[np.bool_], unread: int) -> Tally:
    """Count rows and OOD rows by the class that each is most like."""
    return Tally(occurrences(known_class), occurrences(known_class.filter(pa.array(is_ood))), unread)


def occurrences(texts: pa.Array) -> Counter[str]:
    """How often each text occurs."""
    counts = texts.value_counts()
    return Counter(dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True)))
