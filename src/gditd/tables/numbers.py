"""Number columns to network inputs: three ways, each a module of plain tensor operations.

Every module takes (columns, n) float64 with NaN for missing and gives (features, n) float32, a column's features
next to each other: columns first, because a long last dimension is what vectorises. In memory it may be the other way
round; what looks values up turns them, which is cheaper once they are float32. Only operations that IEEE 754
rounds exactly are used (no exp, log or matmul), so a row has the same bits alone, in any batch and in any order.
"""

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import ndtri
from torch import Tensor, nn

from .columns import Floats
from .schema import mean_and_std

Numbers = Literal["zscore", "quantile", "piecewise"]

LIMIT = 1e6
"""No encoded value is larger: float32 and whatever squares it stay finite."""

_FAR = 1e30  # where float64 input is cut before it becomes float32
_CELLS = 1024  # straight pieces of the quantile map on either side of the centre
SCORES_A_COLUMN = 2 * _CELLS + 1
_SAMPLE = 10_000  # rows by which the map's centre is chosen
_LEAST_WIDTH = 1e-30  # narrower bins would have no finite float32 slope


class NumberModule(nn.Module):
    """What all three have: each column's centre and scale, (a, 1) float64."""

    centre: Tensor
    scale: Tensor

    def __init__(self, *, centre: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.register_buffer("centre", centre)
        self.register_buffer("scale", scale)

    def standardised(self, x: Tensor) -> Tensor:
        """(a, n) float64 -> the same in float32 by centre and scale, NaN for missing."""
        return (x - self.centre).div_(self.scale).float()

    def encoded(self, x: Tensor, *, complete: bool) -> tuple[Tensor, Tensor | None]:
        """(a, n) float64 -> features, and which values are missing: None where `complete` says none is."""
        t = self.standardised(x)
        missing = None if complete else t.isnan()
        return self(t.nan_to_num_(0.0, _FAR, -_FAR), missing), missing

    @property
    def feature_counts(self) -> list[int]:
        """How many features each column has."""
        return [1] * len(self.centre)


class ZScore(NumberModule):
    """(a, n) -> (a, n): (x - mean) / std, the paper's choice; 0 for missing."""

    def forward(self, t: Tensor, missing: Tensor | None) -> Tensor:
        """Keep 1e308 finite."""
        return t.clamp_(-LIMIT, LIMIT)


class QuantileNormal(NumberModule):
    """(a, n) -> (a, n): training rows become normal scores, and outside their range the value goes on.

    Searching quantiles costs several times what reading the file does, so the map is a table of scores at fixed
    places instead, with straight lines between: the whole number line, drawn together by `_drawn`, is cut into
    cells of equal length. Beyond the training range the scores grow with the distance in robust standard
    deviations, first one to one, then like its square root. Missing is 0.
    """

    scores: Tensor
    rises: Tensor
    first_cells: Tensor
    middle: Tensor

    def __init__(self, *, centre: Tensor, scale: Tensor, scores: Tensor) -> None:
        super().__init__(centre=centre, scale=scale)
        self.register_buffer("scores", scores)
        rises = scores.diff(append=scores[-1:])  # at a column's last, infinity, nothing rises
        self.register_buffer("rises", rises, persistent=False)
        first_cells = torch.arange(len(centre), dtype=torch.int32)[:, None] * SCORES_A_COLUMN
        self.register_buffer("first_cells", first_cells, persistent=False)
        self.register_buffer("middle", torch.tensor(float(_CELLS)), persistent=False)

    def forward(self, t: Tensor, missing: Tensor | None) -> Tensor:
        """Find each value's cell, and the score between the cell's ends."""
        t = t.contiguous()
        place = torch.add(self.middle, _drawn(t), alpha=_CELLS)
        cell = place.floor()
        index = cell.to(torch.int32).add_(self.first_cells).reshape(-1)
        start = self.scores.index_select(0, index).reshape(t.shape)
        rise = self.rises.index_select(0, index).reshape(t.shape)
        score = start.add_(place.sub_(cell).mul_(rise))
        return score if missing is None else score.masked_fill_(missing, 0.0)


class PiecewiseLinear(NumberModule):
    """(a, n) -> (bins of all columns, n): in each bin between training quantiles a ramp from 0 to 1.

    Below the training range a column's first ramp goes on, above it the last, compressed like a square root.
    `columns` says which column a bin belongs to; `floors` and `ceilings` are the ramps' limits, wide open at the
    ends. A missing value lies at the median.
    """

    lowest: Tensor
    highest: Tensor
    columns: Tensor
    starts: Tensor
    slopes: Tensor
    floors: Tensor
    ceilings: Tensor

    def __init__(
        self,
        *,
        centre: Tensor,
        scale: Tensor,
        lowest: Tensor,
        highest: Tensor,
        columns: Tensor,
        starts: Tensor,
        slopes: Tensor,
        floors: Tensor,
        ceilings: Tensor,
    ) -> None:
        super().__init__(centre=centre, scale=scale)
        self.register_buffer("lowest", lowest)
        self.register_buffer("highest", highest)
        self.register_buffer("columns", columns)
        self.register_buffer("starts", starts)
        self.register_buffer("slopes", slopes)
        self.register_buffer("floors", floors)
        self.register_buffer("ceilings", ceilings)

    @property
    def feature_counts(self) -> list[int]:
        """How many bins each column has."""
        return [int(count) for count in self.columns.bincount(minlength=len(self.centre))]

    def forward(self, t: Tensor, missing: Tensor | None) -> Tensor:
        """Every column's ramps, one after the other."""
        t = t.contiguous()
        inside = t.clamp(self.lowest, self.highest)
        t = inside + _compressed(t - inside)
        ramps = t.index_select(0, self.columns).sub_(self.starts).mul_(self.slopes)
        return torch.minimum(torch.maximum(ramps, self.floors), self.ceilings)


NUMBER_MODULES: dict[str, Callable[..., NumberModule]] = {
    "zscore": ZScore,
    "quantile": QuantileNormal,
    "piecewise": PiecewiseLinear,
}


def _compressed(distance: Tensor) -> Tensor:
    """Monotone, slope 1 at 0, growing like a square root: far stays far without drowning everything else."""
    return distance / distance.abs().add_(1.0).sqrt_()


def _drawn(t: Tensor) -> Tensor:
    """The number line drawn together to -1..1. The fourth root gives every power of ten its share of it."""
    root = t.abs().sqrt_().sqrt_()
    return (root / (root + 1.0)).copysign_(t)


def _redrawn(places: Floats) -> Floats:
    """The inverse of `_drawn`; both ends are infinite."""
    with np.errstate(divide="ignore"):
        roots = np.abs(places) / (1 - np.abs(places))
    return np.asarray(np.copysign(roots**4, places))


def fit_numbers(columns: list[Floats], *, numbers: Numbers, n_bins: int) -> NumberModule:
    """Fit the module to the training columns, each float64 with NaN for missing."""
    known = [np.sort(column[~np.isnan(column)]) for column in columns]
    if numbers == "zscore":
        moments = [mean_and_std(column) for column in known]
        return ZScore(
            centre=_upright([mean for mean, _ in moments], torch.float64),
            scale=_upright([std or 1.0 for _, std in moments], torch.float64),
        )
    scales = [_robust_std(column) for column in known]
    if numbers == "quantile":
        return _fit_quantile(known, scales)
    return _fit_piecewise(known, scales, n_bins)


def _upright(values: list[float], dtype: torch.dtype = torch.float32) -> Tensor:
    """A value for each column, as (columns, 1)."""
    return torch.tensor(values, dtype=dtype)[:, None]


def _scaled(ordered: Floats, centre: float, scale: float) -> Tensor:
    unit = NumberModule(centre=_upright([centre], torch.float64)[0], scale=_upright([scale], torch.float64)[0])
    return unit.standardised(torch.from_numpy(ordered)).clamp_(-_FAR, _FAR)


def _quantile(ordered: npt.NDArray[Any], level: float | Floats) -> npt.NDArray[Any]:
    """Quantiles that are training values themselves, so ties stay ties and nothing overflows in between."""
    places = np.rint(np.asarray(level) * (len(ordered) - 1)).astype(int)
    return np.asarray(ordered[places])


def _robust_std(ordered: Floats) -> float:
    """The standard deviation a normal column with the same middle half would have."""
    for tail, normal_width in ((0.25, 1.349), (0.05, 3.29)):
        low, high = (_quantile(ordered, np.array([tail, 1 - tail])) / normal_width).tolist()
        if 0 < high - low < math.inf:
            return float(high - low)
    return mean_and_std(ordered)[1] or 1.0


def _fit_quantile(known: list[Floats], scales: list[float]) -> QuantileNormal:
    centres = [_best_centre(column, scale) for column, scale in zip(known, scales, strict=True)]
    columns = zip(known, centres, scales, strict=True)
    scores = np.array([_cell_scores(*_normal_scores(*column)) for column in columns])
    scores = scores.reshape(len(known), SCORES_A_COLUMN)
    return QuantileNormal(
        centre=_upright(centres, torch.float64),
        scale=_upright(scales, torch.float64),
        scores=torch.from_numpy(scores).float().reshape(-1),
    )


def _best_centre(ordered: Floats, scale: float) -> float:
    """Cells are finest at the centre: the median or an end, whichever gets a sample's scores most nearly right."""
    sample = ordered[:: max(1, len(ordered) // _SAMPLE)]

    def error(centre: float) -> float:
        values, scores = _normal_scores(sample, centre, scale)
        places = _drawn(torch.from_numpy(values)).numpy() * _CELLS + _CELLS
        found = np.interp(places, np.arange(SCORES_A_COLUMN), _cell_scores(values, scores))
        return float(((found - scores) ** 2).mean())

    return min((float(_quantile(ordered, level)) for level in (0.5, 0.0, 1.0)), key=error)


def _normal_scores(ordered: Floats, centre: float, scale: float) -> tuple[Floats, Floats]:
    """Each different value, standardised, and its normal score; tied rows share the middle of their ranks."""
    values, counts = np.unique(_scaled(ordered, centre, scale).double().numpy(), return_counts=True)
    return values, ndtri((np.cumsum(counts) - counts / 2) / len(ordered))


def _cell_scores(values: Floats, scores: Floats) -> Floats:
    """The score at every cell's start: between training values straight lines, outside compressed."""
    starts = _redrawn(np.arange(-_CELLS, _CELLS + 1) / _CELLS).clip(-_FAR, _FAR)
    cells = np.interp(starts, values, scores)
    cells = _extended(starts, cells, float(values[-1]), float(scores[-1]))
    cells = -_extended(-starts[::-1], -cells[::-1], -float(values[0]), -float(scores[0]))[::-1]
    return np.asarray(cells.clip(-LIMIT, LIMIT))


def _extended(starts: Floats, cells: Floats, highest: float, score: float) -> Floats:
    """Let the scores go on beyond the highest value, which keeps its own: its cell's line goes through it."""
    end = min(int(np.searchsorted(starts, highest)), len(starts) - 1)
    within = float(_drawn(torch.tensor(highest, dtype=torch.float64))) * _CELLS + _CELLS - (end - 1)
    steep = cells[end - 1] + (score - cells[end - 1]) / max(within, 1e-9)
    gap = max(starts[end] - highest, 0.0)
    beyond = starts[end:] - starts[end]
    top = min(steep, score + gap / np.sqrt(1 + gap))
    return np.concatenate([cells[:end], top + beyond / np.sqrt(1 + beyond)])


def _fit_piecewise(known: list[Floats], scales: list[float], n_bins: int) -> PiecewiseLinear:
    centres = [float(_quantile(column, 0.5)) for column in known]
    edges = [_edges(_scaled(*column).numpy(), n_bins) for column in zip(known, centres, scales, strict=True)]
    bins = [max(len(edge) - 1, 1) for edge in edges]  # a single value has one bin, which moves only outside
    return PiecewiseLinear(
        centre=_upright(centres, torch.float64),
        scale=_upright(scales, torch.float64),
        lowest=_upright([float(edge[0]) for edge in edges]),
        highest=_upright([float(edge[-1]) for edge in edges]),
        columns=torch.tensor([i for i, count in enumerate(bins) for _ in range(count)], dtype=torch.int64),
        starts=_upright([v for edge, count in zip(edges, bins, strict=True) for v in edge[:count].tolist()]),
        slopes=_upright([v for edge in edges for v in ((1 / np.diff(edge)).tolist() or [1.0])]),
        floors=_upright([v for count in bins for v in [-LIMIT] + [0.0] * (count - 1)]),
        ceilings=_upright([v for count in bins for v in [1.0] * (count - 1) + [LIMIT]]),
    )


def _edges(ordered: npt.NDArray[np.float32], n_bins: int) -> npt.NDArray[np.float32]:
    """Bin edges from minimum to maximum with evenly many rows a bin; fewer where rows are tied."""
    edges = np.unique(_quantile(ordered, np.linspace(0, 1, n_bins + 1)))
    wide = np.diff(edges, prepend=-np.inf) > _LEAST_WIDTH
    return np.asarray(edges[wide], np.float32)
