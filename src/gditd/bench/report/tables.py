"""A table as people read it: headings, labels, text in cells, and what to know about it. No format."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

ABSENT = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Cell:
    """The text of a cell, and whether it is the best of those it stands among."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Row:
    """The labels of a row, one for each label column, and its cells."""

    labels: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """Rows under `label_headings` and `headings`; labels stand left, cells right."""

    title: str
    label_headings: tuple[str, ...]
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def group_sizes(self) -> list[int]:
        """For each row, how many rows its first label covers from there on; 0 where a row above covers it."""
        sizes = [0] * len(self.rows)
        start = 0
        for number, row in enumerate(self.rows):
            if not number or len(row.labels) == 1 or row.labels[0] != self.rows[start].labels[0]:
                start = number
            sizes[start] += 1
        return sizes


def number(value: float, decimals: int = 2, *, signed: bool = False) -> str:
    """A number with a real minus sign, and no sign at all for what rounds to zero."""
    if math.isnan(value):
        return ABSENT
    rounded = round(value, decimals) + 0.0  # turns -0.0 into 0.0
    sign = MINUS if rounded < 0 else "+" if signed and rounded > 0 else ""
    return f"{sign}{abs(rounded):,.{decimals}f}".replace(",", "\N{THIN SPACE}")


def mean_and_std(mean: float, std: float, decimals: int = 2) -> str:
    """The mean, and the standard deviation where there is one."""
    return number(mean, decimals) + ("" if math.isnan(std) else f" ± {number(std, decimals)}")


def p_value(p: float) -> str:
    """Four decimals, or a power of ten where those would say nothing."""
    if math.isnan(p):
        return ABSENT
    if p >= 0.001:
        return f"{p:.4f}"
    if p == 0:
        return "0"
    mantissa, exponent = f"{p:.1e}".split("e")
    return f"{mantissa}e{MINUS}{abs(int(exponent))}"


def best(values: Sequence[float], decimals: int = 2, *, higher: bool | None = True) -> list[bool]:
    """Which values are the best as shown: ties share it, and a lone value is not the best of anything."""
    shown = [round(value, decimals) for value in values]
    real = [value for value in shown if not math.isnan(value)]
    if higher is None or len(real) < 2:
        return [False] * len(shown)
    top = max(real) if higher else min(real)
    return [value == top for value in shown]
