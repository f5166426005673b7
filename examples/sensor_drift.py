"""Gas sensors that age: a model of the first batches meets the later ones, and a gas it never smelled.

Needs the Gas Sensor Array Drift files: GDITD_DATA=folder python examples/sensor_drift.py
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from gditd import GDITDClassifier
from gditd.datasets import load_dataset

UNSEEN = "Ethanol"
LEFT_OUT = "Toluene"  # hardly recorded in the early batches: too few rows to learn from
EARLY = 3  # learn from batches 1 to 3
LATER = 7  # then label some rows of this batch, and learn again
LABELLED = 40  # of each gas


def measurements() -> pd.DataFrame:
    """128 sensor features, and behind them the gas and the batch of each row."""
    gas = load_dataset("gas")
    table = pd.DataFrame(gas.X, columns=list(gas.feature_names))
    table = table.assign(gas=np.array(gas.class_names)[gas.y], batch=gas.groups)
    return table[table["gas"] != LEFT_OUT].reset_index(drop=True)


def features(rows: pd.DataFrame) -> pd.DataFrame:
    """The columns to learn from."""
    return rows.drop(columns=["gas", "batch"])


def fitted(rows: pd.DataFrame) -> GDITDClassifier:
    """Learn from labelled rows."""
    return GDITDClassifier(alpha=0.05, random_state=0).fit(features(rows), rows["gas"])


def show_batches(model: GDITDClassifier, rows: pd.DataFrame) -> None:
    """Print, batch by batch, what the model makes of known gases and of the unseen one."""
    verdicts = model.verdict(features(rows)).set_index(rows.index)
    flagged, known = verdicts["verdict"] == "OOD", rows["gas"] != UNSEEN
    figures = {
        "known gas right": (verdicts["known_class"] == rows["gas"])[known],
        "false alarms": flagged[known],
        f"{UNSEEN} caught": flagged[~known],
    }
    by_batch = pd.DataFrame({name: 100 * values.groupby(rows["batch"]).mean() for name, values in figures.items()})
    print(by_batch.to_string(float_format="{:.1f}".format))


def main() -> None:
    """Learn early, look at every batch, ask why, and learn again."""
    table = measurements()
    known = table[table["gas"] != UNSEEN]
    train = known[known["batch"] <= EARLY].sample(frac=0.7, random_state=0)
    rest = table.drop(train.index)

    print(f"== What is known after batches 1 to {EARLY}, and what is promised ==")
    model = fitted(train)
    print(model.promises().to_string(index=False, float_format="{:.3f}".format))

    print(f"\n== Batch after batch, in % (of batches 1 to {EARLY}: rows that did not train) ==")
    show_batches(model, rest)

    print("\n== Why are known gases of the last batch called OOD? ==")
    last = known[known["batch"] == known["batch"].max()].sample(200, random_state=0)
    reasons = [explanation.columns[0] for explanation in model.explain(features(last), n_columns=1)]
    first = pd.Series([reason.column for reason in reasons])
    for column, count in first.value_counts()[:3].items():
        example = reasons[first.eq(column).idxmax()]
        print(f"{column} comes first in {count} of 200 rows.")
        print(f"  In one of them it is {example.value:.4g}; usual: {example.usual}")

    print(f"\n== The same with {LABELLED} labelled rows of each gas of batch {LATER} ==")
    fresh = known[known["batch"] == LATER].groupby("gas").sample(LABELLED, random_state=0)
    renewed = fitted(pd.concat([train, fresh]))
    show_batches(renewed, rest.drop(fresh.index))


if __name__ == "__main__":
    main()
