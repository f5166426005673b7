"""Purchases before a claim: what a cardholder usually buys, and what one behaviour adds to it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gditd.datasets.disputes.people import CATEGORIES, CHANNELS, Cardholders, Floats

Codes = NDArray[np.integer[Any]]

DAYS = 180  # how far the history goes back from the claim
USUAL = 224  # most purchases a case has of the usual kind
PRICES = np.log([0.9, 1.1, 0.7, 4.0, 3.0, 1.6, 0.5, 1.5])  # of each category, beside the usual purchase
RISKS = np.array([0.05, 0.05, 0.08, 0.15, 0.25, 0.15, 0.25, 0.35])  # a merchant's, by category
RESALEABLE = np.array([0, 0, 0, 0, 1, 1, 0, 1])
DECLINED = 0.02
_FROM_THE_SOFA = CHANNELS.index("online"), CHANNELS.index("recurring")


@dataclass(frozen=True)
class Purchases:
    """(n, t) purchases; those that are not `there` fill up the rows of cases with fewer."""

    there: NDArray[np.bool_]
    day: Floats  # days before the claim
    channel: Codes
    category: Codes
    amount: Floats
    hour: Floats
    distance: Floats  # km from home
    risk: Floats  # of the merchant
    new_merchant: NDArray[np.bool_]
    new_device: NDArray[np.bool_]
    declined: NDArray[np.bool_]


def together(*parts: Purchases) -> Purchases:
    """Purchases of the same cases side by side."""
    names = [field.name for field in fields(Purchases)]
    return Purchases(**{name: np.concatenate([getattr(part, name) for part in parts], axis=1) for name in names})


def usual_purchases(people: Cardholders, rng: np.random.Generator) -> Purchases:
    """Half a year of a cardholder's own life."""
    n = len(people)
    shape = (n, USUAL)
    there = np.arange(USUAL) < rng.poisson(np.minimum(people.activity * DAYS, USUAL))[:, None]
    channel, category = pick(people.channels, shape, rng), pick(people.categories, shape, rng)
    return Purchases(
        there=there,
        day=DAYS * rng.random(shape, np.float32),
        channel=channel,
        category=category,
        amount=amounts(people.spend[:, None] + PRICES[category], people.spread[:, None], rng),
        hour=hours(people.hour[:, None], people.hour_spread[:, None], shape, rng),
        distance=distances(people.reach[:, None], from_the_sofa(channel), rng),
        risk=risks(RISKS[category], rng),
        new_merchant=rng.random(shape, np.float32) < people.novelty[:, None],
        new_device=rng.random(shape, np.float32) < people.device_change[:, None],
        declined=rng.random(shape, np.float32) < DECLINED,
    )


def pick(shares: Floats, shape: tuple[int, int], rng: np.random.Generator) -> Codes:
    """Draw codes (n, t) by each case's own shares (n, k)."""
    steps = shares.cumsum(axis=1).astype(np.float32)[:, None, :-1]
    return np.asarray((rng.random(shape, np.float32)[:, :, None] > steps).sum(axis=2, dtype=np.int8))


def amounts(middle: Floats, spread: Floats, rng: np.random.Generator) -> Floats:
    """Amounts around a log amount, to the cent."""
    noise = rng.standard_normal(middle.shape, np.float32)
    return np.asarray(np.round(np.exp(np.clip(middle + spread * noise, -1, 10)), 2))


def hours(middle: Floats, spread: Floats, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """Hours of the day, 0 to 24, around a middle."""
    return np.mod(middle + spread * rng.standard_normal(shape, np.float32), 24)


def from_the_sofa(channel: Codes) -> NDArray[np.bool_]:
    """Which purchases a cardholder makes at home."""
    return np.isin(channel, _FROM_THE_SOFA)


def distances(reach: Floats, at_home: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """Km from home around a log reach; next to none where the buyer stays there."""
    scale = np.where(at_home, 0.15, 1.0)
    return np.asarray(scale * np.exp(np.clip(reach + 0.8 * rng.standard_normal(at_home.shape, np.float32), -3, 9)))


def risks(middle: Floats, rng: np.random.Generator) -> Floats:
    """Risk scores of merchants, 0 to 1."""
    return np.clip(middle + 0.08 * rng.standard_normal(middle.shape, np.float32), 0, 1)


assert len(PRICES) == len(RISKS) == len(RESALEABLE) == len(CATEGORIES)
