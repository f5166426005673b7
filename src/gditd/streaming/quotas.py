"""How many rows of each class to draw, and which.

Training takes a bounded number of steps. Of a shuffled stream of all rows it would see that many batches: so many rows
of a class as its share of them, or as rare classes are repeated for. A random sample of each class that is as large
holds what such a stream would have shown, and can be shuffled, planned and calibrated like any table in memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gditd.plan import n_held_out
from gditd.presets import Settings

Counts = NDArray[np.int64]

MOST_ROWS = 1_000_000  # where the settings bound epochs, not steps
FEWEST_PER_BATCH = 8  # rows of a class that are worth drawing for each batch, where the settings do not say
MOST_REPEATED = 2  # rare classes together may be so many times the rows that training visits


def class_quotas(counts: Counts, settings: Settings, alpha: float, most: int) -> Counts:
    """How many rows to draw of classes of so many rows, at most `most` together; the largest classes give first."""
    visited = MOST_ROWS if settings.max_steps is None else settings.max_steps * settings.batch_size
    steps = visited / settings.batch_size
    floor = min(max(settings.rare_per_batch, FEWEST_PER_BATCH) * steps, MOST_REPEATED * visited / len(counts))
    in_proportion = counts * (visited / max(counts.sum(), 1))
    to_calibrate = np.array([n_held_out(int(count), alpha) for count in counts])
    wanted = np.ceil(np.maximum(in_proportion, floor)).astype(np.int64) + to_calibrate
    return levelled(np.minimum(counts, wanted), most)


def levelled(wanted: Counts, most: int) -> Counts:
    """Cut the largest to one level, as high as lets the sum be at most `most`; never below a row each."""
    if wanted.sum() <= most:
        return wanted
    low, high = 1, int(wanted.max())
    while high - low > 1:
        level = (low + high) // 2
        low, high = (level, high) if np.minimum(wanted, level).sum() <= most else (low, level)
    return np.minimum(wanted, low)


def drawn_places(count: int, quota: int, rng: np.random.Generator) -> Counts:
    """Which rows of a class of `count` to take, in order: each set of `quota` rows is as likely as any other.

    The memory it takes goes with the quota, however many rows there are.
    """
    if 2 * quota > count:
        left_out = drawn_places(count, count - quota, rng) if quota < count else np.arange(0)
        return np.delete(np.arange(count), left_out)
    places = np.unique(rng.integers(count, size=quota))
    while len(places) < quota:
        places = np.union1d(places, rng.integers(count, size=quota - len(places)))
    return places
