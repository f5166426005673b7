"""The tables of a made-up dispute desk: labelled disputes to learn from, and new ones with a kind it does not know."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from gditd.datasets import Dataset, make_disputes
from gditd.datasets.disputes.behaviours import FIRST_PARTY, LEGITIMATE, THIRD_PARTY
from gditd.datasets.disputes.generator import SHARES as SIMULATED_SHARES

TARGET = "kind"
NEVER_SEEN = FIRST_PARTY
SHARES = {LEGITIMATE: 0.80, THIRD_PARTY: 0.15, NEVER_SEEN: 0.05}  # a desk's known kinds are never of equal size
LEARNED_FROM = 0.75  # of each known kind; the rest is new
N_FEATURES = 72  # the claim, the cardholder, the merchant, and the purchases of the last 30 days
DECIMALS = 4


def desk_tables(rows: int, seed: int) -> tuple[pa.Table, pa.Table]:
    """Simulate so many disputes: those to learn from and new ones, each with its kind in the last column.

    Both come from one simulation, as the promise supposes: new disputes of a known kind come as those learned from did.
    """
    disputes = make_disputes(simulated_rows(rows), N_FEATURES, seed)
    train, new = [], []
    for kind, share in SHARES.items():
        places = np.flatnonzero(disputes.y == kind)[: round(share * rows)]
        n_train = 0 if kind == NEVER_SEEN else round(LEARNED_FROM * len(places))
        train.append(places[:n_train])
        new.append(places[n_train:])
    # Sorted, rows are in the simulation's order, in which the kinds are mixed.
    return as_table(disputes, np.sort(np.concatenate(train))), as_table(disputes, np.sort(np.concatenate(new)))


def simulated_rows(rows: int) -> int:
    """How many disputes must be simulated for enough of each kind to be among them."""
    return math.ceil(max(share * rows / SIMULATED_SHARES[kind] for kind, share in SHARES.items())) + 10


def as_table(disputes: Dataset, places: np.typing.NDArray[np.int64]) -> pa.Table:
    """Some of the disputes, in numbers that are short to read."""
    values = np.round(np.asarray(disputes.X)[places].astype(np.float64), DECIMALS)
    columns = [pa.array(column) for column in values.T]
    return pa.table([*columns, pa.array(disputes.y[places].tolist())], names=[*disputes.feature_names, TARGET])
