"""Cardholders: who they are and how they usually spend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]

CHANNELS = ("online", "in_store", "atm", "phone", "recurring")
CATEGORIES = ("groceries", "fuel", "dining", "travel", "electronics", "fashion", "digital", "gift_cards")


class Segment(NamedTuple):
    """A walk of life: the middle of what its people do."""

    share: float
    age: float
    purchases_a_day: float
    spend: float  # the usual purchase, in currency
    reach_km: float
    hour: float
    tenure_months: float
    devices: float
    channels: tuple[float, ...]
    categories: tuple[float, ...]


SEGMENTS = (
    Segment(0.18, 23, 0.30, 18, 8, 19, 20, 2.0, (5, 3, 0.6, 0.1, 1.2), (2, 0.5, 3, 0.6, 0.8, 1.5, 3, 0.4)),
    Segment(0.36, 41, 0.36, 42, 12, 16, 80, 2.5, (3, 5, 0.6, 0.3, 1.0), (5, 2.5, 1.5, 0.7, 0.7, 1.2, 1, 0.3)),
    Segment(0.20, 69, 0.20, 35, 6, 11, 170, 1.0, (0.8, 5, 1.6, 1.0, 0.6), (5, 1.5, 1, 0.6, 0.3, 0.6, 0.2, 0.3)),
    Segment(0.14, 37, 0.38, 70, 180, 14, 70, 2.5, (4, 4, 1.2, 0.4, 0.8), (1, 1, 3, 4, 0.8, 0.8, 1, 0.3)),
    Segment(0.12, 46, 0.42, 95, 25, 13, 95, 3.0, (5, 3, 0.5, 0.8, 1.6), (1, 2, 2, 2, 2, 0.6, 2, 0.6)),
)


@dataclass(frozen=True)
class Cardholders:
    """n people, one entry each; `channels` and `categories` are shares, (n, k)."""

    age: Floats
    activity: Floats  # purchases a day
    spend: Floats  # log of the usual purchase
    spread: Floats  # of log amounts
    reach: Floats  # log of the usual distance from home, in km
    hour: Floats
    hour_spread: Floats
    novelty: Floats  # chance that a merchant is new to them
    device_change: Floats
    tenure_months: Floats
    devices: Floats
    income: Floats
    credit_limit: Floats
    late_payments: Floats
    address_changed: Floats  # days since
    channels: Floats
    categories: Floats

    def __len__(self) -> int:
        return len(self.age)


def draw_cardholders(busier: Floats, younger: Floats, rng: np.random.Generator) -> Cardholders:
    """Draw people; `busier` and `younger` (n,) say on a log scale how much more they spend, how newer they are here."""
    n = len(busier)
    segment = rng.choice(len(SEGMENTS), n, p=[one.share for one in SEGMENTS])

    def middle(name: str) -> Floats:
        return np.array([getattr(one, name) for one in SEGMENTS])[segment]

    wealth = rng.normal(0, 0.5, n)
    return Cardholders(
        age=np.clip(rng.normal(middle("age"), 7), 18, 95),
        activity=middle("purchases_a_day") * np.exp(rng.normal(0, 0.35, n) + busier),
        spend=np.log(middle("spend")) + wealth + 0.5 * busier,
        spread=rng.uniform(0.5, 0.9, n),
        reach=np.log(middle("reach_km")) + rng.normal(0, 0.5, n) + 0.5 * busier,
        hour=rng.normal(middle("hour"), 2.5),
        hour_spread=rng.uniform(2, 4.5, n),
        novelty=rng.beta(2, 9, n),
        device_change=rng.beta(1, 40, n),
        tenure_months=middle("tenure_months") * np.exp(rng.normal(0, 0.7, n) - younger),
        devices=1.0 + rng.poisson(middle("devices") - 0.7),
        income=np.exp(np.log(2800) + wealth + 0.5 * busier + rng.normal(0, 0.3, n)),
        credit_limit=np.exp(np.log(4000) + wealth + 0.5 * busier + rng.normal(0, 0.5, n) - 0.4 * younger),
        late_payments=rng.poisson(0.4 * np.exp(rng.normal(0, 0.8, n) + younger)).astype(float),
        address_changed=rng.exponential(900 * np.exp(-younger)),
        channels=tastes(middle("channels"), rng),
        categories=tastes(middle("categories"), rng),
    )


def tastes(middles: Floats, rng: np.random.Generator) -> Floats:
    """Shares a person around those of the segment: a Dirichlet draw, (n, k)."""
    weights = rng.gamma(middles)
    shares: Floats = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
    return shares
