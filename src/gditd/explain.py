"""Why a row is strange: the columns that push it out of the known classes, with what would be usual."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from gditd.examples import Examples, plain
from gditd.profiles import (
    MOST_ROWS,
    ClassProfiles,
    number,
    numeric_columns,
    percent,
    rows_by_profile,
    shortened,
    spread,
)
from gditd.repair import ClassScores, ColumnMap, Repair, in_chunks
from gditd.tables import EncodedTable, TableEncoder

_CLOSE = 0.1  # a row is close to a class if this share of the class's own rows is no closer


@dataclass(frozen=True)
class ColumnReason:
    """One column's part in why a row is strange.

    value: as it was given, None if missing. usual: what the class compared with mostly has. share: of the row's
    distance to that class, from 0 to 1.
    """

    column: str
    value: Any
    usual: str
    share: float

    def __str__(self) -> str:
        return f"{percent(self.share):>5}  {self.column} = {_shown(self.value)}, usual: {self.usual}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"column": self.column, "value": plain(self.value), "usual": self.usual, "share": self.share}


@dataclass(frozen=True)
class Explanation:
    """Why a row is strange, or how strange it is at all.

    known_class: the nearest known class, as in the verdict. compared_with: the class that `columns` refer to, which
    the row comes back to by the fewest columns put right; mostly the same. columns: most important first.
    similar: the most similar known row, of class `similar_class`, where the model has examples. error: why the row
    could not be read; nothing else is then known about it.
    """

    known_class: Any
    ood_score: float
    compared_with: Any = None
    columns: tuple[ColumnReason, ...] = ()
    similar: dict[str, Any] | None = None
    similar_class: Any = None
    error: str | None = None

    def __str__(self) -> str:
        lines = [f"nearest known class {_shown(self.known_class)}, OOD score {number(self.ood_score)}"]
        if self.error is not None:
            return "\n".join([*lines, f"could not be read: {self.error}"])
        lines.append(f"share of the distance to class {_shown(self.compared_with)}:")
        lines += [f"  {reason}" for reason in self.columns] or ["  no column stands out"]
        if self.similar is not None:
            cells = ", ".join(f"{name} = {_shown(value)}" for name, value in self.similar.items())
            lines.append(f"most similar known row, of class {_shown(self.similar_class)}: {cells}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "known_class": plain(self.known_class),
            "ood_score": self.ood_score,
            "compared_with": plain(self.compared_with),
            "columns": [reason.to_dict() for reason in self.columns],
            "similar": self.similar,
            "similar_class": plain(self.similar_class),
            "error": self.error,
        }


@dataclass(frozen=True, eq=False)
class Explainer:
    """What explanations need besides the network; nothing in it but `examples` is anybody's row.

    typical (classes, width): encoded mean rows. close (classes,): the zeta that all but a tenth of a class's own
    rows reach.
    """

    encoder: TableEncoder
    profiles: ClassProfiles
    typical: Tensor
    close: Tensor
    examples: Examples | None

    @classmethod
    def learn(
        cls,
        table: pa.Table,
        values: Tensor,
        codes: npt.NDArray[np.int64],
        *,
        n_classes: int,
        encoder: TableEncoder,
        scores: ClassScores,
    ) -> Explainer:
        """Learn from the training table, its encoded rows and their classes."""
        rows = rows_by_profile(codes, n_classes)
        close = []
        for c in range(n_classes):
            own = spread(np.flatnonzero(codes == c), MOST_ROWS)
            close.append(in_chunks(scores, values[torch.from_numpy(own)])[:, c].double().quantile(_CLOSE))
        return cls(
            encoder=encoder,
            profiles=ClassProfiles.learn(table, encoder, rows),
            typical=torch.stack([values[torch.from_numpy(own)].mean(0) for own in rows[:-1]]),
            close=torch.stack(close),
            examples=Examples.draw(table, values, codes, encoder),
        )

    def explain(
        self,
        table: pa.Table,
        encoded: EncodedTable,
        *,
        classes: npt.NDArray[Any],
        zeta: npt.NDArray[np.floating[Any]],
        scores: ClassScores,
        n_columns: int,
    ) -> list[Explanation]:
        """Explain the rows of a table, given with their encoding and zeta; at most `n_columns` reasons each."""
        found = [
            Explanation(classes[own.argmax()], -float(own.max()), error=encoded.row_errors.get(row))
            for row, own in enumerate(zeta)
        ]
        readable = [row for row, explanation in enumerate(found) if explanation.error is None]
        if not readable:
            return found
        table, values = table.take(pa.array(readable)), encoded.values[readable]
        columns = ColumnMap.of(self.encoder)
        repair = Repair(columns, self.typical, self.close, scores)
        attribution = repair.attribute(values, self._unexpected_gaps(table, columns.names))
        twins = None if self.examples is None else self.examples.nearest(values, columns)
        for place, row in enumerate(readable):
            c = int(attribution.classes[place])
            found[row] = replace(
                found[row],
                compared_with=classes[c],
                columns=self._reasons(table.slice(place, 1), c, attribution.shares[place], columns.names, n_columns),
            )
            if self.examples is not None and twins is not None:
                twin = int(twins[place])
                of_class = classes[self.examples.codes[twin]]
                found[row] = replace(found[row], similar=self.examples.row(twin), similar_class=of_class)
        return found

    def _reasons(
        self, row: pa.Table, c: int, shares: Tensor, names: list[str], n_columns: int
    ) -> tuple[ColumnReason, ...]:
        """The columns with the largest shares, compared with class c."""
        reasons = []
        for place in shares.argsort(descending=True, stable=True)[:n_columns].tolist():
            if shares[place] > 0:
                cell = row.column(names[place])[0].as_py()
                value = None if plain(cell) is None else cell
                usual = self.profiles.usual(self.encoder.schema_, c, names[place], missing=value is None)
                reasons.append(ColumnReason(names[place], value, usual, float(shares[place])))
        return tuple(reasons)

    def _unexpected_gaps(self, table: pa.Table, names: list[str]) -> Tensor:
        """Mark, (n, columns), the missing values that share the "unexpected missing" feature."""
        schema = self.encoder.schema_
        gaps = torch.zeros(table.num_rows, len(names), dtype=torch.bool)
        missing = self.encoder.raw_tensors(table)[0].isnan()
        for place, column in enumerate(numeric_columns(schema)):
            if column.share_missing == 0:
                gaps[:, names.index(column.name)] = missing[:, place]
        return gaps

    def state(self, *, keep_examples: bool) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Everything learned: plain values for JSON, and tensors; examples only if asked for."""
        document, tensors = self.profiles.state()
        tensors |= {"typical": self.typical, "close": self.close}
        if keep_examples and self.examples is not None:
            tensors |= {f"examples.{name}": value for name, value in self.examples.state().items()}
        return document, tensors

    @classmethod
    def from_state(
        cls, document: dict[str, Any], tensors: dict[str, Tensor], *, encoder: TableEncoder, n_classes: int
    ) -> Explainer:
        """Build the explainer that `state` described."""
        typical, close = tensors["typical"], tensors["close"]
        if typical.shape != (n_classes, encoder.width) or close.shape != (n_classes,):
            raise ValueError("its typical rows do not fit its columns and classes")
        examples = {
            name.removeprefix("examples."): value for name, value in tensors.items() if name.startswith("examples.")
        }
        return cls(
            encoder=encoder,
            profiles=ClassProfiles.from_state(document, tensors, encoder.schema_, n_classes),
            typical=typical,
            close=close,
            examples=Examples.from_state(examples, encoder, n_classes) if examples else None,
        )


def _shown(value: Any) -> str:
    """A value for people: texts in quotes, numbers short."""
    value = plain(value)
    if value is None:
        return "missing"
    if isinstance(value, str):
        return f'"{shortened(value)}"'
    return number(value) if isinstance(value, float) else str(value)
