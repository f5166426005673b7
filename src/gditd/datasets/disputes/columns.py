"""Cases to columns: what an analyst's table would hold of them, most useful columns first.

First the claim, the cardholder and the merchant. Then purchases, counted over windows of days before the claim: all
of them, ratios of windows, each channel by itself, each category. A mean, share or maximum of no purchases is 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gditd.datasets.disputes.behaviours import CLAIM_CHANNELS, REASONS
from gditd.datasets.disputes.cases import Cases
from gditd.datasets.disputes.people import CATEGORIES, CHANNELS, Floats
from gditd.datasets.disputes.purchases import RESALEABLE, Purchases

Column = tuple[str, NDArray[Any]]

WINDOWS = (1, 3, 7, 14, 30, 60, 90, 180)  # days before the claim
USEFUL_WINDOWS = (30, 7, 180, 3, 90, 14, 1, 60)
RATIOS = ((1, 7), (3, 30), (7, 30), (7, 90), (14, 60), (30, 180))
EVERYWHERE = "all"
ABROAD_KM = 800
NIGHT_ENDS = 6

# What is added up over the purchases of a window; shares and means are these by the number of purchases.
SHARES = (
    "night_share",
    "weekend_share",
    "new_merchant_share",
    "new_device_share",
    "abroad_share",
    "declined_share",
    "resaleable_share",
    "distance_mean",
    "merchant_risk_mean",
)
Grid = dict[str, Floats]  # statistic -> (n, windows, channels and all)


def columns_of(cases: Cases) -> Iterator[Column]:
    """Every column's name and its (n,) values, in the order of usefulness."""
    yield from _claim(cases)
    yield from _cardholder(cases)
    yield from _merchant(cases)
    grid = channel_grid(cases.purchases, cases.claims.day_of_week)
    by_category = category_grid(cases.purchases)
    yield from _window_columns(grid, EVERYWHERE)
    yield from _ratio_columns(grid, EVERYWHERE)
    for channel in CHANNELS:
        yield from _window_columns(grid, channel)
        yield from _ratio_columns(grid, channel)
    for window in USEFUL_WINDOWS:
        for statistic, values in by_category.items():
            for place, category in enumerate(CATEGORIES):
                yield f"{statistic}_{window}d_{category}", values[:, WINDOWS.index(window), place]


def _claim(cases: Cases) -> Iterator[Column]:
    claims, disputed = cases.claims, cases.disputed
    first = {name: getattr(disputed, name)[:, 0] for name in ("channel", "hour", "distance", "new_device")}
    sums = (disputed.amount * disputed.there).sum(axis=1)
    number = disputed.there.sum(axis=1)
    yield "claim_amount", sums
    yield "claim_delay_days", claims.delay
    yield "claim_purchases", number
    yield "claim_new_device", first["new_device"]
    yield "claim_new_merchant", disputed.new_merchant[:, 0]
    yield "claim_distance_km", first["distance"]
    yield "claim_authenticated", claims.authenticated
    yield "claim_delivered", claims.delivered
    yield "claim_contacted_merchant", claims.contacted
    yield "claim_documents", claims.documents
    yield "claim_police_report", claims.police
    for code, reason in enumerate(REASONS):
        yield f"claim_reason_{reason}", claims.reason == code
    yield "claim_amount_to_usual", sums / number / np.exp(cases.people.spend)
    yield "claim_amount_to_limit", sums / cases.people.credit_limit
    yield "claim_largest_amount", (disputed.amount * disputed.there).max(axis=1)
    yield "claim_purchase_hour", first["hour"]
    yield "claim_purchase_at_night", first["hour"] < NIGHT_ENDS
    for code, channel in enumerate(CHANNELS):
        yield f"claim_purchase_{channel}", first["channel"] == code
    yield "claim_resaleable", RESALEABLE[disputed.category[:, 0]]
    yield "claim_hour", claims.hour
    yield "claim_at_weekend", claims.day_of_week >= 5
    for code, channel in enumerate(CLAIM_CHANNELS):
        yield f"claim_by_{channel}", claims.channel == code


def _cardholder(cases: Cases) -> Iterator[Column]:
    people, claims = cases.people, cases.claims
    yield "cardholder_disputes_before", claims.earlier
    yield "cardholder_disputes_refunded", claims.earlier_refunded
    yield "cardholder_days_since_dispute", claims.since_earlier
    yield "cardholder_tenure_months", people.tenure_months
    yield "cardholder_age", people.age
    yield "cardholder_devices", people.devices
    yield "cardholder_income", people.income
    yield "cardholder_credit_limit", people.credit_limit
    yield "cardholder_late_payments", people.late_payments
    yield "cardholder_days_since_address_change", people.address_changed


def _merchant(cases: Cases) -> Iterator[Column]:
    claims, category = cases.claims, cases.disputed.category[:, 0]
    yield "merchant_dispute_rate", 0.01 * np.exp(claims.merchant_trouble)
    yield "merchant_risk", cases.disputed.risk[:, 0]
    yield "merchant_refund_rate", claims.merchant_refunds
    yield "merchant_delivery_days", claims.merchant_delivery
    yield "merchant_age_months", claims.merchant_months
    yield "merchant_sales", np.exp(claims.merchant_size)
    for code, name in enumerate(CATEGORIES):
        yield f"merchant_sells_{name}", category == code


def _window_columns(grid: Grid, channel: str) -> Iterator[Column]:
    for window in USEFUL_WINDOWS:
        for statistic, values in grid.items():
            yield f"{statistic}_{window}d_{channel}", values[:, WINDOWS.index(window), _place(channel)]


def _ratio_columns(grid: Grid, channel: str) -> Iterator[Column]:
    for short, long in RATIOS:
        for statistic in ("count", "amount_sum", "amount_mean"):
            values = grid[statistic][:, :, _place(channel)]
            shorter, longer = values[:, WINDOWS.index(short)], values[:, WINDOWS.index(long)]
            yield f"{statistic}_{short}d_to_{long}d_{channel}", divided(shorter, longer)


def _place(channel: str) -> int:
    return len(CHANNELS) if channel == EVERYWHERE else CHANNELS.index(channel)


def channel_grid(purchases: Purchases, day_of_week: NDArray[Any]) -> Grid:
    """Every statistic over every window and channel."""
    cells = Cells(purchases, purchases.channel, len(CHANNELS), with_all=True)
    weekday = np.mod(day_of_week[:, None] - np.floor(purchases.day), 7)
    adds = (
        purchases.hour < NIGHT_ENDS,
        weekday >= 5,
        purchases.new_merchant,
        purchases.new_device,
        purchases.distance > ABROAD_KM,
        purchases.declined,
        RESALEABLE[purchases.category],
        purchases.distance,
        purchases.risk,
    )
    count, total = cells.sums(None), cells.sums(purchases.amount)
    mean = divided(total, count)
    variance = np.maximum(divided(cells.sums(purchases.amount**2), count) - mean**2, 0)
    grid = {
        "count": count,
        "amount_sum": total,
        "amount_mean": mean,
        "amount_max": cells.largest(purchases.amount),
        "amount_std": np.sqrt(variance),
        "distance_max": cells.largest(purchases.distance),
    }
    return grid | {name: divided(cells.sums(values), count) for name, values in zip(SHARES, adds, strict=True)}


def category_grid(purchases: Purchases) -> Grid:
    """Purchases and amounts over every window and category."""
    cells = Cells(purchases, purchases.category, len(CATEGORIES), with_all=False)
    return {"count": cells.sums(None), "amount_sum": cells.sums(purchases.amount)}


class Cells:
    """Purchases sorted into stretches of days and kinds, from which windows are added up."""

    def __init__(self, purchases: Purchases, kind: NDArray[Any], n_kinds: int, *, with_all: bool) -> None:
        self._there = purchases.there
        stretch = np.searchsorted(WINDOWS, purchases.day[self._there])
        case = np.nonzero(self._there)[0]
        self._shape = (len(kind), len(WINDOWS), n_kinds)
        self._cell = (case * len(WINDOWS) + stretch) * n_kinds + kind[self._there]
        self._with_all = with_all

    def sums(self, values: NDArray[Any] | None) -> Floats:
        """Sums over windows, (n, windows, kinds); without values, how many there are."""
        weights = None if values is None else values[self._there]
        cells = np.bincount(self._cell, weights, minlength=int(np.prod(self._shape))).reshape(self._shape)
        sums = cells.astype(float).cumsum(axis=1)
        return np.concatenate([sums, sums.sum(axis=2, keepdims=True)], axis=2) if self._with_all else sums

    def largest(self, values: NDArray[Any]) -> Floats:
        """The largest value of each window and kind, 0 where there is none."""
        largest = np.zeros(self._shape)
        np.maximum.at(largest.reshape(-1), self._cell, values[self._there])
        largest = np.maximum.accumulate(largest, axis=1)
        return np.concatenate([largest, largest.max(axis=2, keepdims=True)], axis=2) if self._with_all else largest


def divided(above: Floats, below: Floats) -> Floats:
    """The quotient, 0 where there is nothing to divide by."""
    return np.divide(above, below, out=np.zeros(np.shape(above)), where=np.asarray(below) > 0)
