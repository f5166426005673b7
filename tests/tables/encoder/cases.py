"""A table with columns of every kind, and encoders of one column."""

import numpy as np
import pyarrow as pa

from gditd.tables import TableEncoder

MODES = ["zscore", "quantile", "piecewise"]


def make_table(rows=500, seed=0):
    rng = np.random.default_rng(seed)
    start = np.datetime64("2024-01-01T00:00:00", "us")
    return pa.table(
        {
            "colour": pa.array(rng.choice(["red", "green", "blue"], rows)),
            "size": rng.normal(5, 2, rows),
            "gaps": pa.array(rng.exponential(1, rows), mask=rng.random(rows) < 0.2),
            "flag": rng.random(rows) < 0.3,
            "when": start + rng.integers(0, 400 * 86_400, rows) * np.timedelta64(1_000_000, "us"),
            "same": [7] * rows,
            "shop": pa.array([f"shop {int(k)}" for k in rng.zipf(1.5, rows).clip(max=200)]),
            "note": pa.array(rng.choice(["yes", "no"], rows), mask=rng.random(rows) < 0.3),
        }
    )


def encode(encoder, table, **options):
    return encoder.transform(table, **options).values


def one(values, numbers="zscore", **settings):
    return TableEncoder(numbers=numbers, **settings).fit(pa.table({"a": values}))


def column(encoder, values, **options):
    return encode(encoder, pa.table({"a": values}), **options)[:, 0].tolist()
