"""A first look: a small made-up table of card disputes, a fit, and verdicts. Run with `make demo`."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from gditd.classifier import GDITDClassifier
from gditd.promises import RareClassWarning

COUNTS = {"legitimate": 2700, "third-party fraud": 900, "first-party fraud": 180}


def disputes(counts: dict[str, int], rng: np.random.Generator) -> pd.DataFrame:
    """Draw disputes of each kind; "mule account" is a kind that training will not see."""
    habits = {
        # amount, days until disputed, share of shop visits online, earlier disputes, channel
        "legitimate": (40, 12, 0.4, 0.2, ["web", "phone", "branch"]),
        "third-party fraud": (310, 3, 0.9, 0.1, ["web", "phone"]),
        "first-party fraud": (150, 30, 0.8, 2.5, ["web"]),
        "mule account": (900, 30, 0.2, 0.1, ["branch"]),
    }
    frames = []
    for kind, n in counts.items():
        amount, days, online, earlier, channels = habits[kind]
        frames.append(
            pd.DataFrame(
                {
                    "amount": np.round(amount * rng.lognormal(0, 0.4, n), 2),
                    "days_until_disputed": np.round(days * rng.gamma(4, 0.25, n), 1),
                    "share_online": np.clip(online + 0.1 * rng.standard_normal(n), 0, 1).round(3),
                    "earlier_disputes": rng.poisson(earlier, n),
                    "channel": rng.choice(channels, n),
                    "kind": kind,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def main() -> None:
    """Fit, judge new disputes, and print what came out."""
    rng = np.random.default_rng(0)
    train = disputes(COUNTS, rng)
    new = disputes({"legitimate": 900, "third-party fraud": 300, "first-party fraud": 60, "mule account": 40}, rng)
    print(f"Learning from {len(train):,} disputes of {len(COUNTS)} kinds ...")
    model = GDITDClassifier(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RareClassWarning)
        model.fit(train.drop(columns="kind"), train["kind"])
    print(f"\nPromised at alpha {model.alpha:g} (at most this share of a class's own new rows is called OOD):")
    print(model.promises().to_string(index=False, float_format="{:.3f}".format))
    verdicts = model.verdict(new.drop(columns="kind"))
    print(f"\nVerdicts on {len(new)} new disputes; nobody ever labelled a mule account:")
    print(pd.crosstab(new["kind"], verdicts["verdict"]).to_string())
    flagged = (verdicts["verdict"] == "OOD").groupby(new["kind"]).mean()
    alarms = ", ".join(f"{kind} {flagged[kind]:.1%}" for kind in COUNTS)
    print(f"\nFalse alarms in this draw: {alarms}. The promise holds on average over draws of the training rows.")
    strangest = verdicts["ood_score"].idxmax()
    print("\nThe strangest of them, and why:")
    print(model.explain(new.drop(columns="kind").iloc[[strangest]])[0])


if __name__ == "__main__":
    main()
