"""Why people dispute: several behaviours a class, each as the middle of what those who act that way do.

No column is drawn from a class. A case draws a behaviour and how purely it acts it out; its purchases and its claim
follow from that, and columns are counted from them. Behaviours of different classes overlap: a professional cardholder
stages a stolen card, a relative uses the usual device, a subscription is denied or was truly cancelled.
"""

from __future__ import annotations

from dataclasses import dataclass

from gditd.datasets.disputes.people import CATEGORIES, CHANNELS

FIRST_PARTY, THIRD_PARTY, LEGITIMATE = "first-party fraud", "third-party fraud", "legitimate"
REASONS = ("not_authorised", "not_received", "not_as_described", "duplicate", "wrong_amount", "cancelled")
CLAIM_CHANNELS = ("app", "phone", "branch")

Weights = tuple[float, ...]


@dataclass(frozen=True)
class Behaviour:
    """One way to come to a claim; chances are of each disputed purchase, weights follow CHANNELS, CATEGORIES, REASONS.

    share : of its class.
    busier, younger : log scale, how much more such people spend and how newer they are to the bank.
    disputes_before : mean number of earlier disputes.
    extra : mean number of disputed purchases beyond the first; `within_days` they all happen.
    delay_days : median time from the purchase to the claim.
    amount : log of how much more is paid than the cardholder would.
    new_device, far, odd_hour, new_merchant, declined : chances.
    probes : mean number of tiny purchases just before.
    ramp : mean number of own large purchases in the last weeks.
    trouble : log of how much more the merchant is complained about.
    documents : mean number handed in with the claim.
    contacted, delivered, police, authenticated : chances, of the claim.
    """

    share: float
    busier: float
    younger: float
    disputes_before: float
    extra: float
    within_days: float
    delay_days: float
    amount: float
    new_device: float
    far: float
    odd_hour: float
    new_merchant: float
    declined: float
    probes: float
    ramp: float
    trouble: float
    documents: float
    contacted: float
    delivered: float
    police: float
    authenticated: float
    channels: Weights
    categories: Weights
    reasons: Weights


BEHAVIOURS: dict[str, dict[str, Behaviour]] = {
    FIRST_PARTY: {
        "wants goods for nothing": Behaviour(
            0.34, -0.10, 0.2, 1.6, 0.5, 6, 32, 0.7, 0.05, 0.05, 0.12, 0.45, 0.03, 0.1, 0.5, 0.1,
            0.7, 0.25, 0.85, 0.03, 0.8,
            (8, 1.5, 0, 0.4, 0.3), (0.3, 0, 0.2, 0.8, 4, 3, 1, 2), (4, 4, 1.5, 0, 0.2, 0.3),
        ),
        "regrets a purchase": Behaviour(
            0.26, 0.00, 0.1, 1.0, 0.4, 10, 24, 0.3, 0.04, 0.04, 0.2, 0.4, 0.02, 0.0, 0.2, 0.2,
            0.5, 0.35, 0.7, 0.01, 0.75,
            (7, 1, 0, 0.4, 2), (0.3, 0, 0.6, 1.5, 1, 2, 5, 0.5), (4, 1, 2.5, 0.2, 0.4, 2),
        ),
        "denies a subscription": Behaviour(
            0.18, -0.10, 0.1, 1.2, 2.2, 90, 40, -0.1, 0.03, 0.02, 0.15, 0.1, 0.02, 0.0, 0.0, 0.3,
            0.4, 0.3, 0.6, 0.01, 0.7,
            (2, 0, 0, 0.2, 8), (0.2, 0, 0.3, 0.3, 0.2, 0.5, 6, 0.1), (4, 0.3, 0.5, 0.3, 0.5, 4),
        ),
        "professional who stages a theft": Behaviour(
            0.22, 0.20, 0.9, 2.4, 3.5, 6, 12, 1.0, 0.45, 0.3, 0.3, 0.7, 0.12, 0.4, 6.0, 0.2,
            1.2, 0.1, 0.5, 0.3, 0.5,
            (6, 2, 1, 0.5, 0.1), (0.3, 0.1, 0.2, 1.5, 5, 2, 0.5, 4), (8, 1, 0.3, 0, 0.1, 0.1),
        ),
    },
    THIRD_PARTY: {
        "tests a stolen number": Behaviour(
            0.28, -0.15, 0.0, 0.2, 3.0, 2, 3, 0.7, 0.85, 0.55, 0.5, 0.95, 0.25, 3.5, 0.0, 0.2,
            0.3, 0.08, 0.35, 0.12, 0.08,
            (9, 0.2, 0, 0.8, 0.1), (0.3, 0.2, 0.3, 1, 3, 2, 3, 3), (9, 0.5, 0.1, 0.2, 0.1, 0.2),
        ),
        "takes an account over": Behaviour(
            0.22, -0.05, 0.0, 0.25, 2.5, 4, 5, 1.1, 0.9, 0.5, 0.4, 0.8, 0.12, 0.6, 0.0, 0.1,
            0.6, 0.1, 0.45, 0.25, 0.35,
            (7, 0.2, 0.4, 2, 0.1), (0.2, 0.1, 0.2, 2, 4, 2, 1, 3), (9, 0.5, 0.1, 0.1, 0.1, 0.1),
        ),
        "steals the card": Behaviour(
            0.20, -0.15, 0.0, 0.2, 3.5, 1.5, 2, 0.4, 0.3, 0.35, 0.3, 0.85, 0.2, 0.3, 0.0, 0.0,
            0.5, 0.05, 0.6, 0.5, 0.3,
            (0.8, 7, 3, 0.2, 0), (1, 2, 1, 0.5, 3, 2.5, 0.2, 1.5), (10, 0.1, 0.1, 0.1, 0.1, 0.1),
        ),
        "skims it abroad": Behaviour(
            0.14, 0.05, 0.0, 0.2, 2.5, 5, 4, 0.6, 0.3, 0.95, 0.5, 0.9, 0.25, 0.5, 0.0, 0.1,
            0.5, 0.08, 0.4, 0.3, 0.2,
            (1, 3, 6, 0.2, 0), (0.6, 0.6, 1, 2, 2, 1.5, 0.2, 1), (10, 0.2, 0.1, 0.2, 0.2, 0.1),
        ),
        "drips small sums": Behaviour(
            0.10, -0.15, 0.0, 0.3, 4.0, 60, 18, -0.5, 0.5, 0.25, 0.3, 0.75, 0.06, 0.5, 0.0, 0.4,
            0.4, 0.2, 0.4, 0.05, 0.25,
            (6, 0.3, 0, 0.3, 4), (0.3, 0.1, 0.3, 0.3, 0.3, 0.5, 6, 1), (8, 0.3, 0.2, 0.4, 0.5, 1.2),
        ),
        "is a relative": Behaviour(
            0.06, -0.15, 0.0, 0.5, 1.5, 12, 14, 0.3, 0.25, 0.08, 0.3, 0.6, 0.04, 0.2, 0.0, 0.1,
            0.4, 0.2, 0.75, 0.08, 0.65,
            (6, 2, 1.5, 0.3, 0.6), (0.4, 0.6, 0.8, 0.6, 1.5, 1.5, 5, 1), (8, 0.5, 0.4, 0.2, 0.3, 0.8),
        ),
    },
    LEGITIMATE: {
        "goods never came": Behaviour(
            0.30, 1.20, -0.1, 0.35, 0.2, 8, 26, 0.2, 0.03, 0.04, 0.1, 0.5, 0.02, 0.0, 0.1, 1.3,
            1.6, 0.85, 0.06, 0.01, 0.85,
            (8, 0.4, 0, 0.6, 0.4), (0.5, 0, 0.2, 2, 2.5, 3, 1, 0.6), (0.3, 8, 0.8, 0.1, 0.1, 0.6),
        ),
        "charged twice": Behaviour(
            0.22, 1.40, -0.2, 0.3, 1.2, 2, 9, 0.0, 0.02, 0.06, 0.08, 0.25, 0.04, 0.0, 0.1, 0.6,
            1.2, 0.6, 0.8, 0.0, 0.85,
            (3, 5, 0.6, 0.4, 1), (2, 2, 3, 2, 0.7, 0.8, 0.8, 0.1), (0.3, 0, 0.1, 8, 1.2, 0.2),
        ),
        "charged too much": Behaviour(
            0.18, 1.35, -0.2, 0.3, 0.3, 4, 12, 0.6, 0.02, 0.12, 0.1, 0.35, 0.02, 0.0, 0.1, 0.8,
            1.5, 0.75, 0.85, 0.0, 0.85,
            (3, 5, 0.6, 0.5, 1), (1, 1.2, 3, 4, 0.6, 0.7, 0.8, 0.1), (0.3, 0, 0.6, 1, 8, 0.3),
        ),
        "not as described": Behaviour(
            0.18, 1.15, -0.1, 0.35, 0.2, 8, 22, 0.4, 0.03, 0.05, 0.1, 0.5, 0.02, 0.0, 0.1, 1.1,
            2.2, 0.9, 0.9, 0.0, 0.85,
            (7, 1.5, 0, 0.5, 0.1), (0.3, 0, 0.4, 2, 3, 4, 0.8, 0.2), (0.3, 0.6, 8, 0.1, 0.2, 0.5),
        ),
        "cancelled in vain": Behaviour(
            0.12, 1.15, 0.0, 0.4, 1.6, 60, 25, -0.1, 0.02, 0.02, 0.1, 0.1, 0.02, 0.0, 0.0, 1.0,
            1.4, 0.85, 0.4, 0.0, 0.8,
            (1, 0, 0, 0.3, 8), (0.3, 0, 0.2, 1, 0.1, 0.4, 6, 0), (0.6, 0.2, 0.5, 0.8, 0.8, 7),
        ),
    },
}  # fmt: skip

assert all(
    (len(one.channels), len(one.categories), len(one.reasons)) == (len(CHANNELS), len(CATEGORIES), len(REASONS))
    for kinds in BEHAVIOURS.values()
    for one in kinds.values()
)
