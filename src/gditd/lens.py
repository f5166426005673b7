"""How networks see number columns: as normal scores, whatever their distribution.

A few huge values squeeze all others of a column together, and a network hardly tells them apart. By their ranks they
lie as far apart as rows of a normal distribution would. Forests and distances among columns look at rows as they are
encoded: to them it matters how far away a value is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from gditd.tables import TableEncoder
from gditd.tables.numbers import QuantileNormal, fit_numbers
from gditd.tables.soundness import refuse_unsound_numbers


class Lens(nn.Module):
    """Encoded rows (n, width) -> the same with normal scores in some places."""

    places: Tensor

    def __init__(self, scores: QuantileNormal, places: Sequence[int], width: int) -> None:
        super().__init__()
        self.scores, self.width = scores, width
        self.register_buffer("places", torch.tensor(places, dtype=torch.int64), persistent=False)
        neighbours = list(places) == list(range(places[0], places[-1] + 1))
        self._own = slice(places[0], places[-1] + 1) if neighbours else self.places  # a slice is quicker

    @classmethod
    def fit(cls, rows: Tensor, encoder: TableEncoder) -> Lens | None:
        """Learn from encoded rows (n, width); None where the table has no number columns."""
        places = encoder.number_features
        if not places:
            return None
        columns = [rows[:, place].numpy().astype(np.float64) for place in places]
        scores = fit_numbers(columns, numbers="quantile", n_bins=encoder.n_bins)
        assert isinstance(scores, QuantileNormal)
        return cls(scores, places, encoder.width)

    def forward(self, rows: Tensor) -> Tensor:
        """Look at rows."""
        seen = rows.clone()
        numbers = rows[:, self._own].t().double()
        seen[:, self._own] = self.scores.encoded(numbers, complete=True)[0].t()
        return seen

    def state(self) -> dict[str, Tensor]:
        """All that was learned, by name."""
        return dict(self.scores.state_dict())

    @classmethod
    def from_state(cls, tensors: dict[str, Tensor], encoder: TableEncoder) -> Lens:
        """Undo `state`; ValueError where the tensors do not fit the encoder's number columns."""
        scores = QuantileNormal(**tensors)
        refuse_unsound_numbers(scores, len(encoder.number_features))
        return cls(scores, encoder.number_features, encoder.width)
