"""Whether rows known to be of no class are worth learning from: one half teaches, the other half tells.

Such rows are few, and what they have in common may be chance. Where the views catch them anyway, learning them can only
disturb. So they are learned only if each half, as teachers, makes the other half stranger among known rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]

Ranks = Callable[[Tensor | None, Tensor], Floats]
"""How strange rows (the second) are among known ones once the first, if any, were learned: shares below, (n,)."""

FEWEST_ROWS = 4  # fewer do not make two halves
FEWEST_KNOWN = 20  # rows that they are compared with: among a handful, a single one may make all the difference


def worth_learning(rows: Tensor, ranks: Ranks, n_known: int) -> bool:
    """Whether halves of rows (n, width), learned, raise the other halves' ranks by more than chance would.

    `n_known` is among how many known rows they are ranked.
    """
    if len(rows) < FEWEST_ROWS or n_known < FEWEST_KNOWN:
        return False
    halves = rows[::2], rows[1::2]
    gains = np.concatenate(
        [
            ranks(teaching, telling) - ranks(None, telling)
            for teaching, telling in zip(halves, reversed(halves), strict=True)
        ]
    )
    return bool(gains.mean() > gains.std(ddof=1) / np.sqrt(len(gains)))
