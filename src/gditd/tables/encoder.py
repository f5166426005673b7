"""A raw table to network inputs: `TableEncoder` fits, checks and encodes; `EncoderModule` can be exported.

Each raw column owns a run of neighbouring features:
- number, boolean (0/1), datetime (seconds): the scaled value or its bins, then "missing" (0/1) if training
  rows had missing values; a datetime also the sine and cosine of its parts.
- category: one feature a bucket, see `categories`.
One feature more, "unexpected missing", belongs to no column: `EVIDENCE` times the number of values missing where
no training row had a gap. It is 0 in training, so a gap that was never seen is evidence rather than an average
value. It stands between the number-like columns, which come first, and the categories.
"""

import copy
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor, nn

from .categories import EVIDENCE, CategoryCoder, OneHot, lonely_rows
from .columns import Floats, Problem, Times, as_booleans, as_numbers, as_times
from .convert import to_arrow
from .dates import Circles, part_codes, varying_parts
from .errors import TableError, quoted
from .layout import FeatureLayout, lay_out
from .numbers import NUMBER_MODULES, NumberModule, Numbers, fit_numbers
from .schema import ColumnSchema, TableSchema, seconds

_RAW_ROWS = 32_000  # rows taken from Arrow at once: enough to make its calls cheap
_MODULE_ROWS = 8_000  # rows encoded at once: few for the cache, and no power of two, whose strides collide in it

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class EncodedTable:
    """Encoded rows, (n, width) float32.

    `row_errors` says why a row could not be read, by its place in the table from 0; such a row is encoded as
    if all its values were missing. `notes` are remarks about the table as a whole.
    """

    values: Tensor
    row_errors: dict[int, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class EncoderModule(nn.Module):
    """Raw numbers (n, a) float64 with NaN for missing, codes (n, c) int64 -> features (n, width) float32.

    Codes are the category columns' first, then the datetime parts'. Numbers and dates are encoded feature by
    feature and put in order there, where moving a feature is moving one run of memory, then turned to rows.
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

    def forward(self, numbers: Tensor, codes: Tensor, out: Tensor | None = None) -> Tensor:
        """Encode each group of columns side by side, in `out` if given."""
        features = torch.empty(numbers.shape[0], self._width) if out is None else out
        by_feature = self._numbers_and_dates(numbers.t(), codes[:, self._n_categories :].t())
        split = by_feature.shape[0]
        features[:, :split] = by_feature.t()
        if self._n_categories:
            self.categories(codes[:, : self._n_categories], features[:, split:].zero_())
        return features

    def _numbers_and_dates(self, numbers: Tensor, parts: Tensor) -> Tensor:
        """(a, n) and (p, n) -> (features, n)."""
        scaled, gaps = self.numbers.standardised(numbers)
        groups = [self.numbers(scaled, gaps)]
        missing = gaps.float()
        if len(self.expected):
            groups.append(missing.index_select(0, self.expected))
        if self._has_dates:
            groups.append(self.dates(parts))
        if len(self.unexpected):
            groups.append(missing.index_select(0, self.unexpected).sum(0, keepdim=True) * EVIDENCE)
        features = torch.cat(groups)
        return features.index_select(0, self.order) if self._reorders else features


class TableEncoder:
    """Learns a table's columns and turns tables like it into network inputs.

    numbers: "zscore" (the paper's), "quantile" (normal scores) or "piecewise" (`n_bins` ramps a column).
    max_categories: how many categories of a column get a feature of their own.
    n_bins: the most bins a column has in "piecewise".

    After `fit`: `schema_`, `module_` (the `EncoderModule`), `width`, `feature_names`, and `column_slices`,
    which maps each used column to its features.
    """

    schema_: TableSchema
    module_: EncoderModule

    def __init__(self, *, numbers: Numbers = "quantile", max_categories: int = 64, n_bins: int = 8) -> None:
        if numbers not in NUMBER_MODULES:
            raise ValueError(f"numbers must be one of {', '.join(NUMBER_MODULES)}, not {numbers!r}")
        if max_categories < 1 or n_bins < 2:
            raise ValueError("max_categories must be at least 1 and n_bins at least 2")
        self.numbers = numbers
        self.max_categories = max_categories
        self.n_bins = n_bins

    def fit(self, table: Any, *, ignore: tuple[str, ...] | list[str] = ()) -> "TableEncoder":
        """Learn the schema and the encoding of every column but those to ignore."""
        table = to_arrow(table)
        self.schema_ = TableSchema.learn(table, ignore)
        if not self.schema_.used:
            raise TableError(
                "every column has one value in all rows, so nothing can be learned: add columns that vary"
            )
        self._parts = {
            column.name: varying_parts(as_times(table.column(column.name), column.name)[0])
            for column in self.schema_.used
            if column.kind == "datetime"
        }
        values = [self._number_column(column, table, [], {}) for column in self._number_columns()]
        self._assemble(fit_numbers(values, numbers=self.numbers, n_bins=self.n_bins))
        return self

    def transform(
        self, table: Any, *, on_error: Literal["raise", "ood"] = "raise", rows_before: int = 0
    ) -> EncodedTable:
        """Encode a table whose columns may come in any order.

        A missing column, a value that does not fit its column or is infinite raises a `TableError` that names
        column and row; with on_error="ood" the row is listed in `row_errors` instead. `rows_before` is how
        many rows of the same file came before this table, so that messages count as the file does.
        """
        table = to_arrow(table)
        if on_error not in ("raise", "ood"):
            raise ValueError(f'on_error must be "raise" or "ood", not {on_error!r}')
        absent = self._absent(table)
        if absent and (on_error == "raise" or table.num_rows == 0):
            raise TableError(_absence(absent))
        # numpy's large arrays lie on huge pages, which makes first writing to them twice as fast as torch's.
        values = torch.from_numpy(np.empty((table.num_rows, self.width), np.float32))

        def encode(start: int) -> dict[int, str]:
            piece = table.slice(start, _RAW_ROWS)
            numbers, codes, problems = self._raw(piece, absent)
            if problems and on_error == "raise":
                raise TableError(problems[0].message(rows_before + start))
            errors = dict.fromkeys(range(piece.num_rows), _absence(absent)) if absent else {}
            for problem in problems:
                errors.setdefault(problem.row, problem.message(rows_before + start))
            self._blank(numbers, codes, list(errors))
            self._encode_into(values[start : start + piece.num_rows], numbers, codes)
            return {start + row: error for row, error in errors.items()}

        row_errors: dict[int, str] = {}
        for errors in _in_threads(encode, range(0, table.num_rows, _RAW_ROWS)):
            row_errors |= errors
        return EncodedTable(values, row_errors, self._notes(table))

    def hide_lonely_categories(self, values: Tensor, table: Any, folds: npt.NDArray[np.integer]) -> Tensor:
        """Encode as unseen what a row's category would be to a model that never saw the row's fold.

        `values` are the encoded rows of `table`, `folds` (n,) a number a row, negative for rows that every model
        learns from. A copy is returned where a category occurs in one fold alone; new rows meet such categories,
        and rows that calibrate must not be spared them.
        """
        hidden = values
        for name, coder in self._coders.items():
            lonely = np.flatnonzero(lonely_rows(coder.places(to_arrow(table).column(name)), folds))
            if len(lonely):
                hidden = hidden.clone() if hidden is values else hidden
                own = torch.zeros(len(coder.weights))
                own[coder.n_buckets] = coder.weights[coder.n_buckets]
                hidden[lonely, self.column_slices[name]] = own
        return hidden

    def raw_tensors(self, table: Any, *, rows_before: int = 0) -> tuple[Tensor, Tensor]:
        """The module's inputs: numbers (n, a) float64 with NaN for missing, codes (n, c) int64."""
        table = to_arrow(table)
        absent = self._absent(table)
        if absent:
            raise TableError(_absence(absent))
        numbers, codes, problems = self._raw(table, [])
        if problems:
            raise TableError(problems[0].message(rows_before))
        return numbers, codes

    @property
    def width(self) -> int:
        """How many features a row has."""
        return len(self._layout.names)

    @property
    def feature_names(self) -> list[str]:
        """The encoded features' names, in order."""
        return list(self._layout.names)

    @property
    def column_slices(self) -> dict[str, slice]:
        """Where each used column's features are."""
        return dict(self._layout.slices)

    def state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Everything learned: settings for JSON, and tensors."""
        settings = {
            "numbers": self.numbers,
            "max_categories": self.max_categories,
            "n_bins": self.n_bins,
            "schema": self.schema_.to_dict(),
            "parts": copy.deepcopy(self._parts),
        }
        tensors = self.module_.numbers.state_dict()
        return settings, {name: tensor.clone().contiguous() for name, tensor in tensors.items()}

    @classmethod
    def from_state(cls, settings: dict[str, Any], tensors: dict[str, Tensor]) -> "TableEncoder":
        """Build the encoder that `state` described; it encodes the same rows to the same bits."""
        encoder = cls(
            numbers=settings["numbers"], max_categories=settings["max_categories"], n_bins=settings["n_bins"]
        )
        encoder.schema_ = TableSchema.from_dict(settings["schema"])
        encoder._parts = {name: list(parts) for name, parts in settings["parts"].items()}
        encoder._assemble(NUMBER_MODULES[encoder.numbers](**tensors))
        return encoder

    def _assemble(self, numbers: NumberModule) -> None:
        """Build what follows from the schema and the fitted number module."""
        self._coders = {
            column.name: CategoryCoder.of(column, self.max_categories)
            for column in self.schema_.used
            if column.kind == "category"
        }
        self._layout = lay_out(self.schema_, numbers, self._coders, self._parts)
        parts = [part for column_parts in self._parts.values() for part in column_parts]
        self.module_ = EncoderModule(
            numbers=numbers,
            categories=OneHot(list(self._coders.values())),
            dates=Circles(parts),
            layout=self._layout,
        ).eval()

    def _number_columns(self) -> list[ColumnSchema]:
        return [column for column in self.schema_.used if column.kind != "category"]

    def _absent(self, table: pa.Table) -> list[str]:
        there = set(table.column_names)
        return [column.name for column in self.schema_.used if column.name not in there]

    def _notes(self, table: pa.Table) -> list[str]:
        known = {column.name for column in self.schema_.columns}
        extra = [name for name in table.column_names if name not in known]
        if not extra:
            return []
        return [f"ignored {len(extra)} column{'s' * (len(extra) > 1)} not seen in training: {quoted(extra)}"]

    def _raw(self, table: pa.Table, absent: list[str]) -> tuple[Tensor, Tensor, list[Problem]]:
        """The module's inputs and the values at fault, first row first. An absent column is all missing."""
        if absent:
            for name in absent:
                table = table.append_column(name, pa.nulls(table.num_rows))
        problems: list[Problem] = []
        times: dict[str, Times] = {}
        columns = self._number_columns()
        # Column by column in memory, as Arrow has them and the number module wants them.
        numbers: Floats = np.empty((len(columns), table.num_rows))
        for place, column in enumerate(columns):
            numbers[place] = self._number_column(column, table, problems, times)
        rows = [coder.codes(table.column(name)) for name, coder in self._coders.items()]
        rows += [part_codes(times[name], part) for name, parts in self._parts.items() for part in parts]
        codes: npt.NDArray[np.int64] = np.empty((len(rows), table.num_rows), np.int64)
        for place, row in enumerate(rows):
            codes[place] = row
        problems.sort(key=lambda problem: problem.row)
        return torch.from_numpy(numbers).t(), torch.from_numpy(codes).t(), problems

    def _number_column(
        self, column: ColumnSchema, table: pa.Table, problems: list[Problem], times: dict[str, Times]
    ) -> Floats:
        """One column's raw numbers; problems are added to the list, a datetime's moments to the dict."""
        raw = table.column(column.name)
        if column.kind == "datetime":
            times[column.name], wrong = as_times(raw, column.name)
            values = seconds(times[column.name])
        else:
            values, wrong = (as_booleans if column.kind == "boolean" else as_numbers)(raw, column.name)
        problems += wrong
        return values

    def _blank(self, numbers: Tensor, codes: Tensor, rows: list[int]) -> None:
        """Make rows all missing."""
        if not rows:
            return
        missing = [coder.missing_code for coder in self._coders.values()]
        missing += [part_codes(np.array(["NaT"], "datetime64[us]"), p)[0] for ps in self._parts.values() for p in ps]
        numbers[rows] = float("nan")
        codes[rows] = torch.tensor(missing, dtype=torch.int64)

    def _encode_into(self, values: Tensor, numbers: Tensor, codes: Tensor) -> None:
        with torch.no_grad():
            for start in range(0, len(values), _MODULE_ROWS):
                rows = slice(start, start + _MODULE_ROWS)
                self.module_(numbers[rows], codes[rows], out=values[rows])


def _in_threads(work: Callable[[int], _Result], starts: range) -> Iterator[_Result]:
    """Work through the pieces in order, on as many threads as Arrow would use to read them.

    One alone where there is one piece, and where torch brings threads of its own, which would get in each
    other's way.
    """
    threads = min(len(starts), pa.cpu_count()) if torch.get_num_threads() == 1 else 1
    if threads <= 1:
        yield from map(work, starts)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, starts)


def _absence(names: list[str]) -> str:
    return (
        f"the table lacks column{'s' * (len(names) > 1)} {quoted(names)}, which the model was trained on: "
        "add what is missing, or check the spelling of the column names"
    )
