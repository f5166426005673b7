"""The encoder: raw rows to the features that networks, distances and forests look at."""

from __future__ import annotations

import numpy as np

from gditd.integrations.onnx.builder import GraphBuilder, Value
from gditd.integrations.onnx.columns import RawRows
from gditd.integrations.onnx.dates import circles
from gditd.integrations.onnx.numbers import encoded_numbers
from gditd.integrations.onnx.operations import as_double, as_single, picked, reduced, side_by_side
from gditd.tables import TableEncoder
from gditd.tables.categories import EVIDENCE, CategoryCoder


def encoded_rows(graph: GraphBuilder, raw: RawRows, encoder: TableEncoder) -> Value:
    """Features (n, width) float32."""
    groups = [] if raw.numbers is None else [numbers_and_dates(graph, raw.numbers, encoder)]
    if raw.codes is not None:
        groups.append(one_hot(graph, raw.codes, encoder))
    return side_by_side(graph, groups)


def numbers_and_dates(graph: GraphBuilder, numbers: Value, encoder: TableEncoder) -> Value:
    """The features of numbers, booleans and dates, and the one that counts gaps where there were none."""
    module = encoder.module_
    encoded = encoded_numbers(graph, numbers, module.numbers)
    gaps = as_single(graph, encoded.missing)
    groups = [encoded.features]
    expected, unexpected = module.expected.tolist(), module.unexpected.tolist()
    if expected:
        groups.append(picked(graph, gaps, expected))
    number_like = [column for column in encoder.schema_.used if column.kind != "category"]
    moments = [place for place, column in enumerate(number_like) if column.kind == "datetime"]
    groups += circles(graph, numbers, moments, encoder.state()[0]["parts"])
    if unexpected:
        count = reduced(graph, "Sum", picked(graph, gaps, unexpected), 1)
        groups.append(graph("Mul", count, np.float32(EVIDENCE)))
    features = side_by_side(graph, groups)
    order = module.order.tolist()
    return features if order == list(range(len(order))) else picked(graph, features, order)


def one_hot(graph: GraphBuilder, codes: Value, encoder: TableEncoder) -> Value:
    """One feature for each code of each category column; all columns at once."""
    categories = [column for column in encoder.schema_.used if column.kind == "category"]
    by_column = [CategoryCoder.of(column, encoder.max_categories).weights for column in categories]
    owners = [place for place, weights in enumerate(by_column) for _ in weights]
    own_codes = np.array([[code for weights in by_column for code in range(len(weights))]])
    values = np.array([[weight for weights in by_column for weight in weights]], dtype=np.float32)
    return graph("Where", graph("Equal", picked(graph, codes, owners), own_codes), values, np.float32(0))


def never_seen(graph: GraphBuilder, features: Value, encoder: TableEncoder) -> Value | None:
    """How much of a row no training row had, (n, 1) float64; None where there is no such feature."""
    if not encoder.evidence_features:
        return None
    return reduced(graph, "Sum", as_double(graph, picked(graph, features, encoder.evidence_features)), 1)
