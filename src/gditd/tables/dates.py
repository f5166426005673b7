"""Datetime columns: the parts of a moment that come round again, as points on a circle.

The time that has passed is a number like any other; this file adds minute of day, day of week and day of
year, each as sine and cosine, so that 23:59 and 00:00 are neighbours. They come from small tables instead of
sin() and cos(), whose last bit may differ between a vector and a single value.
"""

import math
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from .columns import Times

PERIODS = {"time of day": 1440, "day of week": 7, "day of year": 366}


def part_codes(times: Times, part: str) -> npt.NDArray[np.int64]:
    """A part of each moment as a whole number from 0 (Monday is 0); `PERIODS[part]` where it is missing."""
    missing = np.isnat(times)
    times = np.where(missing, np.datetime64(0, "us"), times)
    days = times.astype("datetime64[D]")
    if part == "time of day":
        codes = (times - days).astype("timedelta64[m]").astype(np.int64)
    elif part == "day of week":
        codes = (days.astype(np.int64) + 3) % 7
    else:
        codes = (days - days.astype("datetime64[Y]").astype("datetime64[D]")).astype(np.int64)
    return np.where(missing, PERIODS[part], codes)


def varying_parts(times: Times) -> list[str]:
    """The parts worth encoding: all times at midnight have no time of day."""
    known = times[~np.isnat(times)]
    return [part for part in PERIODS if len(np.unique(part_codes(known, part))) > 1]


class Circles(nn.Module):
    """(p, n) part codes -> (2 p, n) float32, each part's sine, then each part's cosine; 0 where missing."""

    offsets: Tensor
    sines: Tensor
    cosines: Tensor

    def __init__(self, parts: list[str]) -> None:
        super().__init__()
        angles = [[2 * math.pi * step / PERIODS[part] for step in range(PERIODS[part])] for part in parts]
        sines = [value for circle in angles for value in [*map(math.sin, circle), 0.0]]
        cosines = [value for circle in angles for value in [*map(math.cos, circle), 0.0]]
        offsets = [0, *accumulate(PERIODS[part] + 1 for part in parts)][: len(parts)]
        self.register_buffer("offsets", torch.tensor(offsets, dtype=torch.int64)[:, None], persistent=False)
        self.register_buffer("sines", torch.tensor(sines, dtype=torch.float32), persistent=False)
        self.register_buffer("cosines", torch.tensor(cosines, dtype=torch.float32), persistent=False)

    def forward(self, codes: Tensor) -> Tensor:
        """Look the points on the circles up."""
        index = codes + self.offsets
        return torch.cat([self.sines.take(index), self.cosines.take(index)])
