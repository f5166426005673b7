"""`TableEncoder`: learn a table's columns, check tables like it, and encode their rows."""

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from .categories import CategoryCoder, OneHot, lonely_rows
from .columns import Floats, Problem, Times, as_booleans, as_numbers, as_numbers_together, as_times, without_misfits
from .convert import to_arrow
from .dates import Circles, part_codes, varying_parts
from .errors import TableError, quoted
from .grid import Grid
from .layout import lay_out
from .module import EncoderModule
from .numbers import NUMBER_MODULES, NumberModule, Numbers, fit_numbers
from .schema import ColumnSchema, Kind, TableSchema, seconds
from .soundness import refuse_unsound_numbers, refuse_unsound_parts, refuse_unsound_schema

_RAW_ROWS = 32_000  # rows taken from Arrow at once: enough to make its calls cheap
_MODULE_CELLS = 500_000  # features encoded at once: what fits in a core's cache

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


class _Raw(NamedTuple):
    """A table as the module takes it, and the values at fault, first row first.

    `ordinary` is false where a number is missing or a category was never seen in training.
    """

    numbers: Tensor
    codes: Tensor
    problems: list[Problem]
    ordinary: bool


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

    def __init__(self, *, numbers: Numbers = "zscore", max_categories: int = 64, n_bins: int = 8) -> None:
        if numbers not in NUMBER_MODULES:
            raise ValueError(f"numbers must be one of {', '.join(NUMBER_MODULES)}, not {numbers!r}")
        if max_categories < 1 or n_bins < 2:
            raise ValueError("max_categories must be at least 1 and n_bins at least 2")
        self.numbers = numbers
        self.max_categories = max_categories
        self.n_bins = n_bins

    def fit(
        self, table: Any, *, ignore: tuple[str, ...] | list[str] = (), kinds: Mapping[str, Kind] | None = None
    ) -> "TableEncoder":
        """Learn the schema and the encoding of every column but those to ignore.

        `kinds` says what columns of text are, where a larger table has told.
        """
        table = to_arrow(table)
        self.schema_ = TableSchema.learn(table, ignore, kinds)
        if not self.schema_.used:
            raise TableError("every column has one value in all rows, so nothing can be learned: add columns that vary")
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
        table = table if isinstance(table, Grid) else to_arrow(table)
        if on_error not in ("raise", "ood"):
            raise ValueError(f'on_error must be "raise" or "ood", not {on_error!r}')
        absent = self._absent(table)
        if absent and (on_error == "raise" or table.num_rows == 0):
            raise TableError(_absence(absent))
        # numpy's large arrays lie on huge pages, which makes first writing to them twice as fast as torch's.
        values = torch.from_numpy(np.empty((table.num_rows, self.width), np.float32))

        def encode(start: int) -> dict[int, str]:
            piece = table.slice(start, _RAW_ROWS)
            raw = self._raw(piece, absent)
            if raw.problems and on_error == "raise":
                raise TableError(raw.problems[0].message(rows_before + start))
            errors = dict.fromkeys(range(piece.num_rows), _absence(absent)) if absent else {}
            for problem in raw.problems:
                errors.setdefault(problem.row, problem.message(rows_before + start))
            self._blank(raw, list(errors))
            self._encode_into(values[start : start + piece.num_rows], raw, ordinary=raw.ordinary and not errors)
            return {start + row: error for row, error in errors.items()}

        row_errors: dict[int, str] = {}
        for errors in _in_threads(encode, range(0, table.num_rows, _RAW_ROWS)):
            row_errors |= errors
        return EncodedTable(values, row_errors, self._notes(table))

    def hide_lonely_categories(
        self, values: Tensor, table: Any, folds: npt.NDArray[np.integer], *, shared_fold: int
    ) -> Tensor:
        """Encode as unseen what a row's category would be to a model that never saw the row's fold.

        `values` are the encoded rows of `table`, `folds` (n,) a number a row, negative for rows that every model
        learns from; none learns from those of `shared_fold`. A copy is returned where a category occurs in one fold
        alone; new rows meet such categories, and rows that calibrate must not be spared them.
        """
        hidden = values
        for name, coder in self._coders.items():
            lonely = np.flatnonzero(lonely_rows(coder.places(to_arrow(table).column(name)), folds, shared_fold))
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
        raw = self._raw(table, [])
        if raw.problems:
            raise TableError(raw.problems[0].message(rows_before))
        return raw.numbers, raw.codes

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

    @property
    def number_features(self) -> list[int]:
        """Of every column that is not of categories, where its value is; with several ramps, the first."""
        return [self.column_slices[column.name].start for column in self._number_columns()]

    @property
    def evidence_features(self) -> list[int]:
        """The features that are zero in every training row: unseen categories and gaps where there were none."""
        owned = {place for own in self.column_slices.values() for place in range(own.start, own.stop)}
        places = [place for place in range(self.width) if place not in owned]  # "unexpected missing"
        for name, coder in self._coders.items():
            if coder.covers_all:
                places.append(self.column_slices[name].start + coder.n_buckets)
        return places

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
        """Build the encoder that `state` described; it encodes the same rows to the same bits.

        ValueError where no table can have led to such a state.
        """
        encoder = cls(numbers=settings["numbers"], max_categories=settings["max_categories"], n_bins=settings["n_bins"])
        encoder.schema_ = TableSchema.from_dict(settings["schema"])
        refuse_unsound_schema(encoder.schema_)
        encoder._parts = {name: list(parts) for name, parts in settings["parts"].items()}
        refuse_unsound_parts(encoder._parts, encoder.schema_)
        module = NUMBER_MODULES[encoder.numbers](**tensors)
        refuse_unsound_numbers(module, len(encoder._number_columns()))
        encoder._assemble(module)
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

    def _absent(self, table: pa.Table | Grid) -> list[str]:
        there = set(table.column_names)
        return [column.name for column in self.schema_.used if column.name not in there]

    def _notes(self, table: pa.Table | Grid) -> list[str]:
        known = {column.name for column in self.schema_.columns}
        extra = [name for name in table.column_names if name not in known]
        if not extra:
            return []
        return [f"ignored {len(extra)} column{'s' * (len(extra) > 1)} not seen in training: {quoted(extra)}"]

    def _raw(self, table: pa.Table | Grid, absent: list[str]) -> _Raw:
        """The module's inputs. An absent column is all missing."""
        if isinstance(table, Grid):
            raw = None if absent else self._raw_grid(table)
            return self._raw(to_arrow(table), absent) if raw is None else raw
        if absent:
            for name in absent:
                table = table.append_column(name, pa.nulls(table.num_rows))
        problems: list[Problem] = []
        times: dict[str, Times] = {}
        columns = self._number_columns()
        # Column by column in memory, as Arrow has them and the number module wants them.
        numbers = self._plain_numbers(columns, table)
        if numbers is None:
            numbers = np.empty((len(columns), table.num_rows))
            for place, column in enumerate(columns):
                numbers[place] = self._number_column(column, table, problems, times)
        rows = []
        for name, coder in self._coders.items():
            column, wrong = without_misfits(table.column(name), name)
            problems += wrong
            rows.append(coder.codes(column))
        rows += [part_codes(times[name], part) for name, parts in self._parts.items() for part in parts]
        codes: npt.NDArray[np.int64] = np.empty((len(rows), table.num_rows), np.int64)
        for place, row in enumerate(rows):
            codes[place] = row
        unseen = any((row == coder.n_buckets).any() for row, coder in zip(rows, self._coders.values(), strict=False))
        with np.errstate(over="ignore"):
            ordinary = not unseen and math.isfinite(numbers.sum())
        problems.sort(key=lambda problem: problem.row)
        return _Raw(torch.from_numpy(numbers).t(), torch.from_numpy(codes).t(), problems, ordinary)

    def _raw_grid(self, grid: Grid) -> _Raw | None:
        """The module's inputs straight from an array, where all columns hold numbers and none of them is infinite."""
        if any(column.kind != "number" for column in self.schema_.used):
            return None
        numbers = grid.floats([column.name for column in self.schema_.used])
        with np.errstate(over="ignore", invalid="ignore"):
            ordinary = math.isfinite(numbers.sum())
        if not ordinary and np.isinf(numbers).any():
            return None
        return _Raw(torch.from_numpy(numbers), torch.empty(len(numbers), 0, dtype=torch.int64), [], ordinary)

    def _plain_numbers(self, columns: list[ColumnSchema], table: pa.Table) -> Floats | None:
        """All raw numbers, where all columns hold numbers as text, as in a CSV, and each of them is one."""
        if any(column.kind != "number" for column in columns):
            return None
        return as_numbers_together([table.column(column.name) for column in columns])

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

    def _blank(self, raw: _Raw, rows: list[int]) -> None:
        """Make rows all missing."""
        if not rows:
            return
        missing = [coder.missing_code for coder in self._coders.values()]
        missing += [part_codes(np.array(["NaT"], "datetime64[us]"), p)[0] for ps in self._parts.values() for p in ps]
        raw.numbers[rows] = float("nan")
        raw.codes[rows] = torch.tensor(missing, dtype=torch.int64)

    def _encode_into(self, values: Tensor, raw: _Raw, *, ordinary: bool) -> None:
        # Whole hundreds, hence never a power of two, whose strides collide in the cache.
        step = min(max(_MODULE_CELLS // self.width // 100, 5), 80) * 100
        with torch.no_grad():
            for start in range(0, len(values), step):
                rows = slice(start, start + step)
                self.module_(raw.numbers[rows], raw.codes[rows], out=values[rows], ordinary=ordinary)


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
