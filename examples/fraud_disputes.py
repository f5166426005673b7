"""Card disputes: two kinds are labelled, one of them rarely, and a third kind arrives that nobody has labelled.

The disputes are simulated, so no file is needed: python examples/fraud_disputes.py
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from gditd import GDITDClassifier
from gditd.datasets import make_disputes

UNSEEN = "first-party fraud"
RARE = "third-party fraud"
KEPT = 0.15  # the share of the rare kind's labelled rows that we keep


def all_disputes() -> tuple[pd.DataFrame, pd.Series]:
    """6,000 simulated disputes with 120 columns, and the kind of each."""
    made = make_disputes(n_rows=6_000, n_features=120, random_state=0)
    return pd.DataFrame(made.X, columns=list(made.feature_names)), pd.Series(made.y, name="kind")


def fitted(table: pd.DataFrame, kind: pd.Series, unseen: str) -> GDITDClassifier:
    """Learn from the rows of all kinds but the unseen one."""
    known = kind != unseen
    return GDITDClassifier(alpha=0.05, random_state=0).fit(table[known], kind[known])


def main() -> None:
    """Fit, judge new disputes, try other alphas, explain, and let each kind play the unknown one."""
    table, kind = all_disputes()
    rng = np.random.default_rng(0)
    is_new = rng.random(len(kind)) < 0.4
    train = ~is_new & ((kind != RARE) | (rng.random(len(kind)) < KEPT))
    new, new_kind = table[is_new], kind[is_new].reset_index(drop=True)
    unseen = new_kind == UNSEEN

    print("== What is known, and what is promised ==")
    model = fitted(table[train], kind[train], UNSEEN)
    print(model.promises().to_string(index=False, float_format="{:.3f}".format))

    print(f"\n== Verdicts on {len(new)} new disputes, in % of each kind ==")
    verdicts = model.verdict(new)
    judged = pd.crosstab(new_kind, verdicts["verdict"], normalize="index")
    print((100 * judged).to_string(float_format="{:.1f}".format))

    print("\n== Called OOD at other alphas by the same model, in % of each kind ==")
    alphas = {}
    for alpha in (0.01, 0.05, 0.1, 0.2):
        flagged = model.verdict(new, alpha=alpha)["verdict"] == "OOD"
        alphas[alpha] = 100 * flagged.groupby(new_kind).mean()
    print(pd.DataFrame(alphas).to_string(float_format="{:.1f}".format))

    print("\n== The strangest first ==")
    worklist = verdicts["ood_score"].sort_values(ascending=False).index[:100]
    print(f"{unseen.mean():.1%} of the new disputes are {UNSEEN};")
    print(f"of the 100 strangest, {unseen[worklist].sum()} are.")

    print("\n== Why is the strangest one strange? ==")
    explanation = model.explain(new.iloc[worklist[:1]], n_columns=4)[0]
    print(f"It is {new_kind[worklist[0]]}. What sets it apart from {explanation.compared_with}:")
    for reason in explanation.columns:
        print(reason)

    print("\n== Each kind plays the unknown one, in % ==")
    figures = {}
    for name in [UNSEEN, *model.classes_.tolist()]:
        other = model if name == UNSEEN else fitted(table[~is_new], kind[~is_new], name)
        flagged = other.verdict(new)["verdict"] == "OOD"
        figures[name] = {
            "caught": 100 * flagged[new_kind == name].mean(),
            "false alarms": 100 * flagged[new_kind != name].mean(),
            "AUROC of the score": 100 * roc_auc_score(new_kind == name, other.ood_score(new)),
        }
    print(pd.DataFrame(figures).T.to_string(float_format="{:.1f}".format))


if __name__ == "__main__":
    main()
