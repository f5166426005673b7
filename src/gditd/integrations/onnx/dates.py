"""The parts of a moment that come round again, counted with whole numbers as the calendar does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from onnx import TensorProto

from gditd.integrations.onnx.builder import GraphBuilder, Value
from gditd.integrations.onnx.operations import picked, side_by_side
from gditd.tables.dates import PERIODS, Circles

DAY = 86_400_000_000  # microseconds
MINUTE = 60_000_000
ERA = 146_097  # days of 400 years, after which leap years come round again
MARCH_0000 = 719_468  # days from 1 March of the year 0 to 1970
MARCH_TO_JANUARY = 306  # days


def circles(graph: GraphBuilder, numbers: Value, places: Sequence[int], parts: Mapping[str, list[str]]) -> list[Value]:
    """Sines and cosines (n, p) of all parts of the columns of these places, which `parts` lists in the same order."""
    codes = [
        part_codes(graph, picked(graph, numbers, [place]), part)
        for place, own in zip(places, parts.values(), strict=True)
        for part in own
    ]
    if not codes:
        return []
    tables = Circles([part for own in parts.values() for part in own])
    index = graph("Add", side_by_side(graph, codes), tables.offsets.numpy().T)
    return [graph("Gather", table.numpy(), index) for table in (tables.sines, tables.cosines)]


def part_codes(graph: GraphBuilder, seconds: Value, part: str) -> Value:
    """A part of each moment (n, 1) as a whole number; its period where the moment is missing."""
    missing = graph("IsNaN", seconds)
    known = graph("Where", missing, np.float64(0), seconds)
    moments = graph("Cast", graph("Round", graph("Mul", known, np.float64(1e6))), to=TensorProto.INT64)
    of_day = graph("Mod", moments, whole(DAY))
    days = graph("Div", graph("Sub", moments, of_day), whole(DAY))
    codes = {
        "time of day": lambda: graph("Div", of_day, whole(MINUTE)),
        "day of week": lambda: graph("Mod", graph("Add", days, whole(3)), whole(7)),
        "day of year": lambda: day_of_year(graph, days),
    }[part]()
    return graph("Where", missing, whole(PERIODS[part]), codes)


def day_of_year(graph: GraphBuilder, days: Value) -> Value:
    """Days since 1970 -> days since 1 January of the same year.

    Years that begin in March end with the day that only leap years have, so that every day before it has a place that
    does not depend on it (after Howard Hinnant's civil_from_days).
    """
    counted = graph("Add", days, whole(MARCH_0000))
    of_era = graph("Mod", counted, whole(ERA))
    divided = divider(graph)
    years = graph("Sub", of_era, divided(of_era, 1_460))
    years = graph("Add", years, divided(of_era, 36_524))
    years = divided(graph("Sub", years, divided(of_era, ERA - 1)), 365)
    starts = graph("Add", graph("Mul", years, whole(365)), divided(years, 4))
    starts = graph("Sub", starts, divided(years, 100))
    since_march = graph("Sub", of_era, starts)
    # The first two months belong to the year that begins in the March before; an era is whole, so its years will do.
    in_new_year = graph("GreaterOrEqual", since_march, whole(MARCH_TO_JANUARY))
    before_march = graph("Add", leap(graph, years), whole(59))
    return graph(
        "Where",
        in_new_year,
        graph("Sub", since_march, whole(MARCH_TO_JANUARY)),
        graph("Add", since_march, before_march),
    )


def leap(graph: GraphBuilder, years: Value) -> Value:
    """1 for leap years, 0 for others."""

    def is_multiple(of: int) -> Value:
        return graph("Equal", graph("Mod", years, whole(of)), whole(0))

    usual = graph("And", is_multiple(4), graph("Not", is_multiple(100)))
    return graph("Cast", graph("Or", usual, is_multiple(400)), to=TensorProto.INT64)


def divider(graph: GraphBuilder) -> Callable[[Value, int], Value]:
    """Division of whole numbers that are not negative."""
    return lambda value, by: graph("Div", value, whole(by))


def whole(number: int) -> np.int64:
    """A constant."""
    return np.int64(number)
