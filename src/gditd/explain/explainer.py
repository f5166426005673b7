"""Why a row is strange: the columns that push it out of the known classes, with what would be usual."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from gditd.explain.attribution import ZetaOf, attribute
from gditd.explain.examples import Examples, cell, plain
from gditd.explain.profiles import ClassProfiles, number, numeric_columns, percent, rows_by_profile, shortened
from gditd.explain.surprise import ClassShapes, ColumnMap
from gditd.tables import EncodedTable, TableEncoder
from gditd.training.runtime import one_thread

_SHOWN = 20  # cells of the most similar row in print


@dataclass(frozen=True)
class ColumnReason:
    """One column's part in why a row is strange.

    value: as it was given, None if missing. usual: what the class compared with mostly has. share: the column's part
    in what sets the row apart from that class, from 0 to 1; those of all columns sum to 1.
    """

    column: str
    value: Any
    usual: str
    share: float

    def __str__(self) -> str:
        return f"{percent(self.share):>6}  {self.column} = {_shown(self.value)}, usual: {self.usual}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"column": self.column, "value": plain(self.value), "usual": self.usual, "share": self.share}


@dataclass(frozen=True)
class Explanation:
    """Why a row is strange, or how strange it is at all.

    known_class: the nearest known class, as in the verdict. compared_with: the class that `columns` refer to, which
    the row would be nearest to but for its strangest column; mostly the same. columns: most important first.
    similar: the most similar known row, of class `similar_class`, where the model has examples. error: why the row
    could not be read; nothing else is then known about it.
    """

    known_class: Any
    ood_score: float
    compared_with: Any = None
    columns: list[ColumnReason] = field(default_factory=list)
    similar: dict[str, Any] | None = None
    similar_class: Any = None
    error: str | None = None

    def __str__(self) -> str:
        lines = [f"nearest known class {_shown(self.known_class)}, OOD score {number(self.ood_score)}"]
        if self.error is not None:
            return "\n".join([*lines, f"could not be read: {self.error}"])
        lines.append(f"what sets it apart from class {_shown(self.compared_with)}:")
        lines += [f"  {reason}" for reason in self.columns]
        if self.similar is not None:
            cells = ", ".join(f"{name} = {_shown(value)}" for name, value in list(self.similar.items())[:_SHOWN])
            cells += ", ..." if len(self.similar) > _SHOWN else ""
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
    """What explanations need besides the network; nothing in it but `examples` is anybody's row."""

    encoder: TableEncoder
    profiles: ClassProfiles
    shapes: ClassShapes
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
    ) -> Explainer:
        """Learn from the training table, its encoded rows and their classes."""
        with one_thread():
            shapes = ClassShapes.learn(values, codes, n_classes)
        return cls(
            encoder=encoder,
            profiles=ClassProfiles.learn(table, encoder, rows_by_profile(codes, n_classes)),
            shapes=shapes,
            examples=Examples.draw(table, values, codes, encoder),
        )

    def explain(
        self,
        table: pa.Table,
        encoded: EncodedTable,
        *,
        classes: npt.NDArray[Any],
        likeliest: npt.NDArray[np.int64],
        ood_scores: npt.NDArray[np.floating[Any]],
        zeta: ZetaOf,
        n_columns: int,
    ) -> list[Explanation]:
        """Explain the rows of a table, given with their encoding, likeliest class and OOD score (n,) each.

        At most `n_columns` reasons are named for a row.

        What single columns do is asked of the network alone: it is a hundred times as many rows to score.
        """
        labels = classes.tolist()
        found = [
            Explanation(labels[own], float(score), error=encoded.row_errors.get(row))
            for row, (own, score) in enumerate(zip(likeliest, ood_scores, strict=True))
        ]
        readable = [row for row, explanation in enumerate(found) if explanation.error is None]
        if not readable:
            return found
        table, values = table.take(pa.array(readable)), encoded.values[readable]
        columns = ColumnMap.of(self.encoder)
        gaps = self._unexpected_gaps(table, columns.names)
        with one_thread():
            attribution = attribute(values, gaps, shapes=self.shapes, columns=columns, zeta=zeta)
            twins = None if self.examples is None else self.examples.nearest(values, columns)
        for place, row in enumerate(readable):
            c = int(attribution.classes[place])
            found[row] = replace(
                found[row],
                compared_with=labels[c],
                columns=self._reasons(table.slice(place, 1), c, attribution.shares[place], columns.names, n_columns),
            )
            if self.examples is not None and twins is not None:
                twin = int(twins[place])
                of_class = labels[self.examples.codes[twin]]
                found[row] = replace(found[row], similar=self.examples.row(twin), similar_class=of_class)
        return found

    def _reasons(self, row: pa.Table, c: int, shares: Tensor, names: list[str], n_columns: int) -> list[ColumnReason]:
        """The columns with the largest shares, compared with class c."""
        reasons = []
        for place in shares.argsort(descending=True, stable=True)[:n_columns].tolist():
            value = cell(row.column(names[place])[0])
            usual = self.profiles.usual(self.encoder.schema_, c, names[place], missing=value is None)
            reasons.append(ColumnReason(names[place], value, usual, float(shares[place])))
        return reasons

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
        tensors |= self.shapes.state()
        if keep_examples and self.examples is not None:
            tensors |= {f"examples.{name}": value for name, value in self.examples.state().items()}
        return document, tensors

    @classmethod
    def from_state(
        cls, document: dict[str, Any], tensors: dict[str, Tensor], *, encoder: TableEncoder, n_classes: int
    ) -> Explainer:
        """Build the explainer that `state` described."""
        examples = {
            name.removeprefix("examples."): value for name, value in tensors.items() if name.startswith("examples.")
        }
        return cls(
            encoder=encoder,
            profiles=ClassProfiles.from_state(document, tensors, encoder.schema_, n_classes),
            shapes=ClassShapes.from_state(tensors, n_classes, encoder.width),
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
