"""Raw tables and quick classifiers for the tests of the classifier and its promise."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gditd import GDITDClassifier
from gditd.nn import MLP


def small_backbone(n_features):
    return MLP(n_features, widths=(32, 16))


def quick(**settings):
    """A classifier that trains in a moment, for tests that do not look at how well it detects."""
    return GDITDClassifier(
        **{"preset": "fast", "max_epochs": 3, "backbone": small_backbone, "random_state": 0} | settings
    )


def trained(**settings):
    """A classifier that has learned its table."""
    return quick(**{"max_epochs": 60, "batch_size": 20} | settings)


def mixed_table(counts=(40, 60, 110), seed=0):
    """Numbers, categories, booleans, dates and gaps; a row's class shows in the numbers and in the category."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(counts)), counts)
    n = len(y)
    own_category = np.array(["north", "south", "west"])[y % 3]
    frame = pd.DataFrame(
        {
            "amount": 4.0 * y + rng.normal(size=n),
            "items": rng.integers(0, 9, n),
            "region": np.where(rng.random(n) < 0.8, own_category, rng.choice(["north", "south", "west"], n)),
            "member": rng.random(n) < 0.5,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
            "gap": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        }
    )
    frame.loc[rng.random(n) < 0.1, "region"] = None
    return frame, np.array(["low", "middle", "top"])[y]


def as_python_rows(frame):
    """The same values as an object frame with None for what is missing."""
    return frame.astype(object).where(frame.notna(), None)
