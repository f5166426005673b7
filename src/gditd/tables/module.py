"""The encoder as a torch module, so that an exported model can include it.

Each raw column owns a run of neighbouring features:
- number, boolean (0/1), datetime (seconds): the scaled value or its bins, then "missing" (0/1) if training
  rows had missing values; a datetime also the sine and cosine of its parts.
- category: one feature a bucket, see `categories`.
One feature more, "unexpected missing", belongs to no column: `EVIDENCE` times the number of values missing where
no training row had a gap. It is 0 in training, so a gap that was never seen is evidence rather than an average
value. It stands between the number-like columns, which come first, and the categories.
"""

import torch
from torch import Tensor, nn

from .categories import EVIDENCE, OneHot
from .dates import Circles
from .layout import FeatureLayout
from .numbers import NumberModule


class EncoderModule(nn.Module):
    """Raw numbers (n, a) float64 with NaN for missing, codes (n, c) int64 -> features (n, width) float32.

    Codes are the category columns' first, then the datetime parts'. Numbers and dates are encoded feature by
    feature and put in order there, where moving a feature is moving one run of memory, then turned to rows. Numbers
    that come row by row in memory stay so as long as nothing has to be put in order.
    """

    expected: Tensor
    unexpected: Tensor
    order: Tensor

    def __init__(self, *, numbers: NumberModule, categories: OneHot, dates: Circles, layout: FeatureLayout) -> None:
        super().__init__()
        self.numbers = numbers
        self.categories = categories
        self.dates = dates
        self._width = len(layout.names)
        self._n_categories = categories.offsets.shape[0]
        self._has_dates = dates.offsets.shape[0] > 0
        self._reorders = layout.order != list(range(len(layout.order)))
        self.register_buffer("expected", torch.tensor(layout.expected, dtype=torch.int64), persistent=False)
        self.register_buffer("unexpected", torch.tensor(layout.unexpected, dtype=torch.int64), persistent=False)
        self.register_buffer("order", torch.tensor(layout.order, dtype=torch.int64), persistent=False)

    def forward(self, numbers: Tensor, codes: Tensor, out: Tensor | None = None, *, ordinary: bool = False) -> Tensor:
        """Encode each group of columns side by side, in `out` if given.

        `ordinary` promises that no number is missing and no category unseen; the result is the same, sooner.
        """
        features = torch.empty(numbers.shape[0], self._width) if out is None else out
        groups = self._numbers_and_dates(numbers.t(), codes[:, self._n_categories :].t(), ordinary)
        split = 0
        for group in [torch.cat(groups).index_select(0, self.order)] if self._reorders else groups:
            start, split = split, split + group.shape[0]
            features[:, start:split] = group.t()
        if self._n_categories:
            self.categories(codes[:, : self._n_categories], features[:, split:].zero_(), ordinary=ordinary)
        return features

    def _numbers_and_dates(self, numbers: Tensor, parts: Tensor, complete: bool) -> list[Tensor]:
        """(a, n) and (p, n) -> groups of features, (features, n) each."""
        encoded, missing = self.numbers.encoded(numbers, complete=complete)
        no_gap = encoded.new_zeros(1, numbers.shape[1])
        gaps = None if missing is None else missing.float()
        groups = [encoded]
        if len(self.expected):
            own = no_gap.expand(len(self.expected), -1) if gaps is None else gaps.index_select(0, self.expected)
            groups.append(own)
        if self._has_dates:
            groups.append(self.dates(parts))
        if len(self.unexpected):
            count = no_gap if gaps is None else gaps.index_select(0, self.unexpected).sum(0, keepdim=True)
            groups.append(count * EVIDENCE)
        return groups
