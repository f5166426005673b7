"""Network connections: a family of attacks that training did not have, rarer rare ones, and another day's traffic.

Needs the NSL-KDD files: GDITD_DATA=folder python examples/network_intrusion.py
"""

from __future__ import annotations

import warnings

import pandas as pd

from gditd import GDITDClassifier
from gditd.datasets import load_dataset
from gditd.promises import RareClassWarning

UNSEEN = "probe"
MOST_ROWS = 2_000  # of a family, for training
RARE = ("r2l", "u2r")
ABOUT = ["family", "attack", "file", "verdict", "known_class", "p_value", "ood_score"]  # never features


def connections() -> pd.DataFrame:
    """All connections; behind their 41 columns the family and name of the attack and the file they come from."""
    kdd = load_dataset("nsl-kdd")
    return pd.DataFrame(kdd.X).assign(family=kdd.y, attack=kdd.extra["attack"], file=kdd.split)


def at_most(rows: pd.DataFrame, n: int) -> pd.DataFrame:
    """At most n rows of each family, drawn at random."""
    return rows.sample(frac=1, random_state=0).groupby("family").head(n)


def fitted(rows: pd.DataFrame) -> GDITDClassifier:
    """Learn from rows of known families, and show what is promised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RareClassWarning)  # the table says it too
        model = GDITDClassifier(alpha=0.05, random_state=0).fit(features(rows), rows["family"])
    print(model.promises().to_string(index=False, float_format="{:.3f}".format))
    return model


def features(rows: pd.DataFrame) -> pd.DataFrame:
    """The columns to learn from."""
    return rows.drop(columns=ABOUT, errors="ignore")


def judged(model: GDITDClassifier, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with their verdicts, and how each family was judged in print."""
    rows = rows.reset_index(drop=True).join(model.verdict(features(rows)))
    shares = 100 * pd.crosstab(rows["family"], rows["verdict"], normalize="index")
    print(shares.assign(rows=rows["family"].value_counts()).to_string(float_format="{:.1f}".format))
    return rows


def main() -> None:
    """Fit without the family, judge rows of the same days, explain, learn from fewer rare rows, judge another day."""
    table = connections()
    same_days, another_day = table[table["file"] == "train"], table[table["file"] == "test"]
    known, unseen = same_days[same_days["family"] != UNSEEN], same_days[same_days["family"] == UNSEEN]
    train = at_most(known.groupby("family").sample(frac=0.7, random_state=0), MOST_ROWS)
    new_rows = pd.concat([at_most(known.drop(train.index), 1_000), at_most(unseen, 1_000)])

    print("== What is known, and what is promised ==")
    model = fitted(train)

    print("\n== New rows of the same days, in % of each family ==")
    new = judged(model, new_rows)

    print(f"\n== Which attacks of the family {UNSEEN} are caught ==")
    probes = new[new["family"] == UNSEEN]
    for attack, flagged in (probes["verdict"] == "OOD").groupby(probes["attack"]):
        print(f"{attack}: {flagged.mean():.1%} of {len(flagged)}")

    print("\n== The strangest of them, and why ==")
    strangest = probes.loc[[probes["ood_score"].idxmax()]]
    explanation = model.explain(features(strangest), n_columns=4)[0]
    print(f"It is {strangest['attack'].item()}. What sets it apart from {explanation.compared_with}:")
    for reason in explanation.columns:
        print(reason)

    print(f"\n== The same with a tenth of {' and '.join(RARE)} ==")
    scarce = train.drop(train[train["family"].isin(RARE)].sample(frac=0.9, random_state=0).index)
    judged(fitted(scarce), new_rows)

    print("\n== Another day: the publisher's test file, in % of each family ==")
    later = judged(model, at_most(another_day, 1_000))
    new_names = ~later["attack"].isin(same_days["attack"])
    flagged = (later["verdict"] == "OOD")[new_names].mean()
    print(f"Of {new_names.sum()} attacks whose names training never had, {flagged:.1%} are called OOD.")


if __name__ == "__main__":
    main()
