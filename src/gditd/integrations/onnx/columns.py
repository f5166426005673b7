"""The inputs of the graph: one for each column, as the encoder takes it, and rows that it could not read.

Numbers and booleans (0 and 1) are float32, which is what most callers hold, or float64, which keeps 0.1 and a number of
nine digits as the training rows had them. Moments (seconds since 1970) are float64 in any case: as float32 they would
be minutes apart. A graph cannot refuse a row as `fit` and `verdict` do, so it does what `on_error="ood"` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from onnx import TensorProto

from gditd.integrations.onnx import Numbers
from gditd.integrations.onnx.builder import ML, GraphBuilder, Value
from gditd.integrations.onnx.operations import any_of_row, as_double, side_by_side
from gditd.tables import TableEncoder
from gditd.tables.categories import CategoryCoder
from gditd.tables.schema import ColumnSchema

ROWS = "rows"  # the name of the dimension that is open
MISSING_TEXT = ""
LATEST = 9.2e12  # seconds: beyond, their microseconds do not fit in int64

TENSORS = {"float": TensorProto.FLOAT, "double": TensorProto.DOUBLE, "string": TensorProto.STRING}

MEANINGS = {
    "number": ("NaN", "a number"),
    "boolean": ("NaN", "1 for true, 0 for false"),
    "datetime": ("NaN", "seconds since 1970-01-01T00:00:00 UTC"),
    "category": (MISSING_TEXT, "the text as it was in training"),
}


@dataclass(frozen=True)
class Column:
    """A column, and the name and type of its input."""

    schema: ColumnSchema
    input: str
    type: str

    def document(self) -> dict[str, Any]:
        """What someone needs to know who fills the input, for JSON."""
        missing, values = MEANINGS[self.schema.kind]
        return {
            "column": self.schema.name,
            "input": self.input,
            "kind": self.schema.kind,
            "type": self.type,
            "values": values,
            "missing": missing,
        }


@dataclass(frozen=True)
class RawRows:
    """What the encoder's module takes: numbers (n, a) and category codes (n, c); None where there are no such columns.

    `unreadable` (n, 1) says which rows hold a value that cannot be; they are all missing in the others.
    """

    numbers: Value | None
    codes: Value | None
    unreadable: Value | None


def named_columns(encoder: TableEncoder, reserved: Sequence[str], numbers: Numbers) -> list[Column]:
    """The used columns in the table's order; an input is named as its column, unless the name stands for another."""
    types = {"number": numbers, "boolean": numbers, "datetime": "double", "category": "string"}
    taken = set(reserved)
    columns = []
    for schema in encoder.schema_.used:
        name = schema.name or "column"  # no name at all stands for an input that is left out
        while name in taken:
            name = f"{name}_"
        taken.add(name)
        columns.append(Column(schema, name, types[schema.kind]))
    return columns


def raw_rows(graph: GraphBuilder, columns: Sequence[Column], encoder: TableEncoder) -> RawRows:
    """Add the inputs."""
    for column in columns:
        graph.input(column.input, TENSORS[column.type], [ROWS, 1])
    number_like = [column for column in columns if column.schema.kind != "category"]
    categories = [column for column in columns if column.schema.kind == "category"]
    coders = [CategoryCoder.of(column.schema, encoder.max_categories) for column in categories]
    numbers = doubles(graph, number_like) if number_like else None
    unreadable = None if numbers is None else unreadable_rows(graph, numbers, number_like)
    codes = None
    if coders:
        looked_up = [codes_of(graph, column.input, coder) for column, coder in zip(categories, coders, strict=True)]
        codes = side_by_side(graph, looked_up)
    if numbers is not None and unreadable is not None:
        numbers = graph("Where", unreadable, np.float64(np.nan), numbers)
        if codes is not None:
            codes = graph("Where", unreadable, np.array([[coder.missing_code for coder in coders]]), codes)
    return RawRows(numbers, codes, unreadable)


def doubles(graph: GraphBuilder, columns: Sequence[Column]) -> Value:
    """The columns of numbers side by side, as the encoder takes them: (n, columns) in float64.

    Neighbours of one type are joined before they are cast, for a cast of each column alone costs more.
    """
    parts = []
    for kind, run in groupby(columns, key=lambda column: column.type):
        joined = side_by_side(graph, [column.input for column in run])
        parts.append(as_double(graph, joined) if kind == "float" else joined)
    return side_by_side(graph, parts)


def unreadable_rows(graph: GraphBuilder, numbers: Value, columns: Sequence[Column]) -> Value:
    """Rows with an infinite number, a moment beyond all calendars, or a boolean other than 0 and 1, (n, 1)."""
    limits = [LATEST if column.schema.kind == "datetime" else np.finfo(np.float64).max for column in columns]
    wrong = any_of_row(graph, graph("Greater", graph("Abs", numbers), np.array([limits])))
    booleans = [place for place, column in enumerate(columns) if column.schema.kind == "boolean"]
    if booleans:
        flags = graph("Gather", numbers, np.array(booleans), axis=1)
        # A number is 0 or 1 where it equals its own square; a missing one equals nothing, but is no number either.
        other = graph("Not", graph("Or", graph("Equal", flags, graph("Mul", flags, flags)), graph("IsNaN", flags)))
        wrong = graph("Or", wrong, any_of_row(graph, other))
    return wrong


def codes_of(graph: GraphBuilder, texts: Value, coder: CategoryCoder) -> Value:
    """The code of each text: rare categories share the last bucket, and any other text was never seen."""
    buckets = [min(place, coder.n_buckets - 1) for place in range(len(coder.known))]
    return graph(
        "LabelEncoder",
        texts,
        domain=ML,
        keys_strings=[*coder.known, MISSING_TEXT],
        values_int64s=[*buckets, coder.missing_code],
        default_int64=coder.n_buckets,
    )
