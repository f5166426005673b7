"""Cases: cardholders, their purchases, and the claim that one behaviour leads to."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from gditd.datasets.disputes.behaviours import BEHAVIOURS, CLAIM_CHANNELS, REASONS, Behaviour
from gditd.datasets.disputes.people import CHANNELS, Cardholders, Floats, draw_cardholders
from gditd.datasets.disputes.purchases import (
    DAYS,
    PRICES,
    RISKS,
    Codes,
    Purchases,
    amounts,
    distances,
    from_the_sofa,
    hours,
    pick,
    risks,
    together,
    usual_purchases,
)

DISPUTED = 10  # most purchases a claim is about
PROBES = 6
RAMP = 12
FAR = 7.0  # log km: another country
# How purely a behaviour is acted out, 0 to 1: most cases are neither textbook nor beyond recognition.
PURITY = (5.0, 2.0)

# What anyone's purchase and claim look like: the other end of purity.
ORDINARY = Behaviour(
    share=0, busier=0.2, younger=0, disputes_before=0.5, extra=0.8, within_days=8, delay_days=12, amount=0.3,
    new_device=0.12, far=0.12, odd_hour=0.15, new_merchant=0.5, declined=0.04, probes=0.2, ramp=0.2, trouble=0.4,
    documents=0.8, contacted=0.4, delivered=0.6, police=0.06, authenticated=0.6,
    channels=(5, 3, 0.8, 0.4, 1), categories=(1, 0.6, 1, 1, 2, 2, 2, 0.6), reasons=(4, 1.5, 0.8, 0.5, 0.5, 0.8),
)  # fmt: skip


@dataclass(frozen=True)
class Claims:
    """n claims, one entry each."""

    day_of_week: Codes
    hour: Floats
    delay: Floats  # days from the first disputed purchase
    reason: Codes
    channel: Codes
    documents: Floats
    contacted: Floats
    delivered: Floats
    police: Floats
    authenticated: Floats
    earlier: Floats  # disputes before this one
    earlier_refunded: Floats
    since_earlier: Floats  # days, at most five years
    merchant_trouble: Floats  # log
    merchant_months: Floats
    merchant_size: Floats  # log
    merchant_refunds: Floats
    merchant_delivery: Floats  # days


@dataclass(frozen=True)
class Cases:
    """n cases: who, what was bought (the disputed purchases among the rest), what is disputed, and the claim."""

    people: Cardholders
    purchases: Purchases
    disputed: Purchases
    claims: Claims


def simulate_cases(label: str, n: int, rng: np.random.Generator) -> Cases:
    """Draw n cases of a class."""
    acts = _acted_out(list(BEHAVIOURS[label].values()), n, rng)
    people = draw_cardholders(acts["busier"], acts["younger"], rng)
    delay = np.clip(acts["delay_days"] * np.exp(0.8 * rng.standard_normal(n)), 0.05, 110)
    disputed = _disputed(people, acts, delay, rng)
    purchases = together(
        usual_purchases(people, rng), disputed, _probes(people, disputed, acts, rng), _ramp(people, acts, rng)
    )
    return Cases(people, purchases, disputed, _claims(disputed, acts, delay, rng))


def _acted_out(behaviours: list[Behaviour], n: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Draw a behaviour a case; its middles (n,) and shares (n, k), diluted by how purely it is acted out."""
    shares = np.array([one.share for one in behaviours])
    kind = rng.choice(len(behaviours), n, p=shares / shares.sum())
    purity = rng.beta(*PURITY, n)
    acts: dict[str, Floats] = {}
    for field in fields(Behaviour):
        middles = np.array([getattr(one, field.name) for one in behaviours], float)
        ordinary = np.array(getattr(ORDINARY, field.name), float)
        if middles.ndim > 1:
            middles, ordinary = middles / middles.sum(axis=1, keepdims=True), ordinary / ordinary.sum()
        mixed = purity.reshape(-1, *[1] * (middles.ndim - 1))
        acts[field.name] = ordinary + mixed * (middles[kind] - ordinary)
    return acts


def _disputed(people: Cardholders, acts: dict[str, Floats], delay: Floats, rng: np.random.Generator) -> Purchases:
    """The purchases that the claim is about: the first one always, in the first place."""
    n, shape = len(people), (len(people), DISPUTED)

    def chance(name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        return rng.random(shape, np.float32) < acts[name][:, None]

    spent_within = np.minimum(acts["within_days"], delay)
    later = spent_within[:, None] * np.sort(rng.random(shape, np.float32), axis=1)
    later[:, 0] = 0
    channel, category = pick(acts["channels"], shape, rng), pick(acts["categories"], shape, rng)
    middle = people.spend[:, None] + PRICES[category] + acts["amount"][:, None]
    far = chance("far")
    own_hour = hours(people.hour[:, None], people.hour_spread[:, None], shape, rng)
    return Purchases(
        there=np.arange(DISPUTED) <= rng.poisson(acts["extra"])[:, None],
        day=np.clip(delay[:, None] - later, 0.01, DAYS - 0.01),
        channel=channel,
        category=category,
        amount=amounts(middle, np.full((n, 1), 0.7), rng),
        hour=np.where(chance("odd_hour"), rng.uniform(0, 6, shape), own_hour),
        distance=distances(np.where(far, FAR, people.reach[:, None]), from_the_sofa(channel) & ~far, rng),
        risk=risks(RISKS[category] + 0.12 * acts["trouble"][:, None], rng),
        new_merchant=chance("new_merchant"),
        new_device=chance("new_device"),
        declined=chance("declined"),
    )


def _probes(people: Cardholders, disputed: Purchases, acts: dict[str, Floats], rng: np.random.Generator) -> Purchases:
    """Tiny purchases by which a stranger finds out whether the card works."""
    shape = (len(people), PROBES)
    channel = np.full(shape, CHANNELS.index("online"), np.int8)
    category = pick(acts["categories"], shape, rng)
    start = disputed.day[:, :1] + rng.exponential(0.5, shape)
    return Purchases(
        there=np.arange(PROBES) < rng.poisson(acts["probes"])[:, None],
        day=np.clip(start, 0.01, DAYS - 0.01),
        channel=channel,
        category=category,
        amount=amounts(np.full(shape, 0.7), np.array(0.6), rng),
        hour=np.where(rng.random(shape) < 0.6, disputed.hour[:, :1], rng.uniform(0, 24, shape)),
        distance=np.repeat(disputed.distance[:, :1], PROBES, axis=1),
        risk=risks(RISKS[category] + 0.1, rng),
        new_merchant=np.ones(shape, np.bool_),
        new_device=np.repeat(disputed.new_device[:, :1], PROBES, axis=1),
        declined=rng.random(shape) < 0.3,
    )


def _ramp(people: Cardholders, acts: dict[str, Floats], rng: np.random.Generator) -> Purchases:
    """Own purchases that use up the limit before the claim."""
    shape = (len(people), RAMP)
    channel, category = pick(people.channels, shape, rng), pick(acts["categories"], shape, rng)
    return Purchases(
        there=np.arange(RAMP) < rng.poisson(acts["ramp"])[:, None],
        day=np.minimum(rng.exponential(18, shape), DAYS - 0.01),
        channel=channel,
        category=category,
        amount=amounts(people.spend[:, None] + PRICES[category] + 0.6, np.array(0.6), rng),
        hour=hours(people.hour[:, None], people.hour_spread[:, None], shape, rng),
        distance=distances(people.reach[:, None], from_the_sofa(channel), rng),
        risk=risks(RISKS[category], rng),
        new_merchant=rng.random(shape) < 0.4,
        new_device=rng.random(shape) < people.device_change[:, None],
        declined=rng.random(shape) < 0.06,
    )


def _claims(disputed: Purchases, acts: dict[str, Floats], delay: Floats, rng: np.random.Generator) -> Claims:
    """What is written down when the claim is made."""
    n = len(delay)

    def chance(name: str) -> Floats:
        return (rng.random(n) < acts[name]).astype(np.float32)

    earlier = rng.poisson(acts["disputes_before"] * rng.gamma(2, 0.5, n))
    trouble = acts["trouble"] + 0.7 * rng.standard_normal(n)
    online = disputed.channel[:, 0] == CHANNELS.index("online")
    claim_channels = np.where(online[:, None], [5.0, 3.0, 0.5], [3.0, 4.0, 1.5])
    return Claims(
        day_of_week=rng.integers(0, 7, n),
        hour=hours(np.full((n, 1), 14.0), np.array(4.0), (n, 1), rng)[:, 0],
        delay=delay,
        reason=pick(acts["reasons"], (n, 1), rng)[:, 0],
        channel=pick(claim_channels / claim_channels.sum(axis=1, keepdims=True), (n, 1), rng)[:, 0],
        documents=rng.poisson(acts["documents"]).astype(np.float32),
        contacted=chance("contacted"),
        delivered=chance("delivered"),
        police=chance("police"),
        authenticated=chance("authenticated"),
        earlier=earlier.astype(float),
        earlier_refunded=rng.binomial(earlier, 0.6).astype(float),
        since_earlier=np.where(earlier > 0, np.minimum(rng.exponential(400, n), 5 * 365), 5 * 365),
        merchant_trouble=trouble,
        merchant_months=rng.exponential(70 * np.exp(-0.25 * trouble)),
        merchant_size=rng.normal(7 - 0.5 * trouble, 1.5),
        merchant_refunds=rng.beta(2, 30, n) * np.exp(0.3 * trouble),
        merchant_delivery=rng.gamma(2, 2 * np.exp(0.4 * np.clip(trouble, -2, 3))),
    )


assert len(ORDINARY.reasons) == len(REASONS)
assert len(CLAIM_CHANNELS) == 3
