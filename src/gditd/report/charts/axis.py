"""Scales from values to places, and axes with round ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gditd.report.charts.svg import line, text

Ticks = list[tuple[float, str]]
Floats = NDArray[np.float64]
ROOM = 40.0  # between two ticks of an uneven scale


@dataclass(frozen=True)
class Scale:
    """Values low .. high to places start .. end; values beyond are put at the end they are beyond."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The place of a value."""
        return float(self.places(np.array(value)))

    def places(self, values: Floats) -> Floats:
        """The places of many values."""
        low, high = self._bent(np.array(self.low)), self._bent(np.array(self.high))
        if not high > low:
            return np.full(values.shape, (self.start + self.end) / 2)
        share = (self._bent(np.clip(values, self.low, self.high)) - low) / (high - low)
        places: Floats = self.start + share * (self.end - self.start)
        return places

    def _bent(self, values: Floats) -> Floats:
        return values

    def ticks(self, about: int = 5) -> Ticks:
        """Round values on the scale, and how they are written."""
        return [(value, short(value)) for value in round_ticks(self.low, self.high, about)]


class LogScale(Scale):
    """Equal ratios are equal lengths; for values above zero."""

    def _bent(self, values: Floats) -> Floats:
        return np.log10(values)

    def ticks(self, about: int = 5) -> Ticks:
        """Powers of ten, and 2 and 5 times them where there is room."""
        return ticks_with_room(self)


@dataclass(frozen=True)
class TailScale(Scale):
    """Even within a `unit` of `middle`, and logarithmic further away: a long tail leaves room for the rest."""

    middle: float = 0.0
    unit: float = 1.0

    def _bent(self, values: Floats) -> Floats:
        return np.arcsinh((values - self.middle) / self.unit)

    def ticks(self, about: int = 5) -> Ticks:
        """Zero, powers of ten, and 2 and 5 times them where there is room."""
        return ticks_with_room(self)


def ticks_with_room(scale: Scale) -> Ticks:
    """Round values that do not come too close to each other, the roundest before others."""
    largest = max(abs(scale.low), abs(scale.high), 1e-12)
    powers = [10.0**power for power in range(math.floor(math.log10(largest)), math.floor(math.log10(largest)) - 8, -1)]
    sizes = [factor * power for factor in (1, 5, 2) for power in powers]
    chosen: list[float] = []
    for value in [0.0, *(sign * size for size in sizes for sign in (1, -1))]:
        apart = all(abs(scale(value) - scale(other)) >= ROOM for other in chosen)
        if scale.low <= value <= scale.high and apart:
            chosen.append(value)
    return [(value, short(value)) for value in sorted(chosen)]


def round_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten within low .. high."""
    if not high > low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step + 0.0 for number in range(first, last + 1)]


def short(value: float) -> str:
    """A tick's number in few characters."""
    if value and (abs(value) >= 1e6 or abs(value) < 1e-3):
        return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-").replace("-", "\N{MINUS SIGN}")
    return f"{value:,.10g}".replace("-", "\N{MINUS SIGN}")


def bottom_axis(scale: Scale, top: float, bottom: float, title: str, ticks: Ticks | None = None) -> str:
    """Ticks below the drawing with lines up through it, and what they count."""
    parts = []
    for value, label in scale.ticks() if ticks is None else ticks:
        place = scale(value)
        parts += [line(place, top, place, bottom, "grid"), text(place, bottom + 15, label, anchor="middle", css="tick")]
    parts.append(text((scale.start + scale.end) / 2, bottom + 32, title, anchor="middle", css="faint"))
    return "".join(parts)


def left_axis(scale: Scale, left: float, right: float, title: str, ticks: Ticks | None = None) -> str:
    """Ticks left of the drawing with lines through it; the title stands above them."""
    parts = []
    for value, label in scale.ticks() if ticks is None else ticks:
        place = scale(value)
        parts += [line(left, place, right, place, "grid"), text(left - 6, place + 4, label, anchor="end", css="tick")]
    parts.append(text(0, scale.end - 10, title, css="faint"))
    return "".join(parts)
