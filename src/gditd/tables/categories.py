"""Category columns to codes and codes to one-hot features.

A column's codes: 0 to k-1 are its buckets (the most frequent categories one each, all rarer ones together in
a last bucket "other"), k is "unseen", and k+1 is "missing" where training rows had missing values. Where they
had none, a missing value is one more thing never seen, and gets code k.

Features are plain 0/1: two rows of different categories lie sqrt(2) apart, about as far as two random rows of
a z-scored number. The "unseen" feature is 0 in every training row, so nothing was learned about it; it is set
to `EVIDENCE` instead of 1, a four-sigma event, for it to count.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor, nn

from .columns import as_text, is_text
from .schema import ColumnSchema

EVIDENCE = 4.0


@dataclass(frozen=True)
class CategoryCoder:
    """One category column: text to bucket code."""

    known: tuple[str, ...]
    n_own: int
    has_missing: bool
    covers_all: bool

    @classmethod
    def of(cls, column: ColumnSchema, max_categories: int) -> "CategoryCoder":
        """Take a column's buckets from its schema."""
        known = tuple(text for text, _ in column.categories)
        return cls(
            known=known,
            n_own=min(len(known), max_categories),
            has_missing=column.share_missing > 0,
            covers_all=column.n_categories == len(known),
        )

    @property
    def n_buckets(self) -> int:
        """Buckets of known categories, "other" included."""
        return self.n_own + self._has_other

    @property
    def _has_other(self) -> bool:
        return len(self.known) > self.n_own

    @cached_property
    def _known_array(self) -> pa.Array:
        return pa.array(self.known, pa.large_string())

    @property
    def code_names(self) -> list[str]:
        """What each code means."""
        own = [f"is {text}" for text in self.known[: self.n_own]]
        return own + ["other"] * self._has_other + ["unseen"] + ["missing"] * self.has_missing

    @property
    def weights(self) -> list[float]:
        """The value of each code's feature; "unseen" is ordinary where training rows fell there as well."""
        return [1.0] * self.n_buckets + [EVIDENCE if self.covers_all else 1.0] + [1.0] * self.has_missing

    def codes(self, column: pa.ChunkedArray | pa.Array) -> npt.NDArray[np.integer]:
        """The code of every row."""
        if isinstance(column, pa.ChunkedArray) and column.num_chunks == 1:
            column = column.chunk(0)
        if isinstance(column, pa.DictionaryArray) and len(column.dictionary) < len(column):
            return self._codes_by_dictionary(column)
        text = column if is_text(column.type) else as_text(column)
        places = pc.index_in(text, value_set=self._known_array.cast(text.type))
        if places.null_count:
            places = self._with_gaps(text, places)
        if isinstance(places, pa.ChunkedArray):
            places = places.combine_chunks()
        codes: npt.NDArray[np.integer] = places.to_numpy(zero_copy_only=False)
        return self._bucket_of_place()[codes] if self._has_other else codes

    def places(self, column: pa.ChunkedArray | pa.Array) -> npt.NDArray[np.int64]:
        """The place of every row's text among the known ones, -1 for any other."""
        text = as_text(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
        found = pc.index_in(text, value_set=self._known_array.cast(text.type))
        places: npt.NDArray[np.int64] = found.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        return places

    @property
    def missing_code(self) -> int:
        """The code of a missing value."""
        return self.n_buckets + self.has_missing

    def _with_gaps(self, text: pa.Array, places: pa.Array) -> pa.Array:
        """Put places after the known ones where no known text was found: unseen, then missing."""
        unseen = len(self.known)
        empty = pc.fill_null(pc.equal(text, pa.scalar("", text.type)), True)
        places = pc.fill_null(places, unseen)
        return pc.if_else(empty, pa.scalar(unseen + self.has_missing, pa.int32()), places)

    def _bucket_of_place(self) -> npt.NDArray[np.int64]:
        places = np.arange(len(self.known) + 2)
        after = places - len(self.known) + self.n_buckets
        return np.where(places < len(self.known), np.minimum(places, self.n_buckets - 1), after)

    def _codes_by_dictionary(self, column: pa.DictionaryArray) -> npt.NDArray[np.integer]:
        of_entry = np.append(self.codes(column.dictionary), self.missing_code)
        entries = column.indices.cast(pa.int64()).fill_null(len(column.dictionary))
        return np.asarray(of_entry[entries.to_numpy(zero_copy_only=False)])


class OneHot(nn.Module):
    """(n, c) codes -> (n, total buckets) float32."""

    offsets: Tensor
    weights: Tensor

    def __init__(self, coders: list[CategoryCoder]) -> None:
        super().__init__()
        widths = [len(coder.weights) for coder in coders]
        offsets = torch.tensor([0, *accumulate(widths)][: len(widths)], dtype=torch.int64)
        weights = torch.tensor([weight for coder in coders for weight in coder.weights])
        self.register_buffer("offsets", offsets, persistent=False)
        self.register_buffer("weights", weights, persistent=False)

    def forward(self, codes: Tensor, zeros: Tensor, *, ordinary: bool) -> Tensor:
        """Set one feature per column in a tensor of zeros; `ordinary` says that no code is "unseen"."""
        index = codes + self.offsets
        return zeros.scatter_(1, index, 1.0) if ordinary else zeros.scatter_(1, index, self.weights.take(index))


def lonely_rows(
    places: npt.NDArray[np.int64], folds: npt.NDArray[np.integer], shared_fold: int
) -> npt.NDArray[np.bool_]:
    """Which rows hold a category that the models which never saw their fold never saw.

    Rows of no fold (negative) are seen by all models, rows of the shared fold by none.
    """
    n_places, n_folds = int(places.max(initial=-1)) + 1, int(folds.max(initial=-1)) + 1
    seen = (places >= 0) & (folds != shared_fold)
    in_all = np.bincount(places[seen], minlength=n_places)
    dealt = seen & (folds >= 0)
    in_fold = np.bincount(places[dealt] * n_folds + folds[dealt], minlength=n_places * n_folds)
    held = (places >= 0) & (folds >= 0)
    lonely = np.zeros(len(places), dtype=np.bool_)
    lonely[held] = in_fold[places[held] * n_folds + folds[held]] == in_all[places[held]]
    return lonely
