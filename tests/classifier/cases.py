"""What several tests of the classifier try."""

from __future__ import annotations

import numpy as np

PRESETS = {
    "fast": {"preset": "fast"},
    "default": {"preset": "default"},
    "paper": {"preset": "paper"},
    "merged": {"preset": "default", "alpha": 0.02},
}


def with_text(frame):
    """The same with one number replaced."""
    return frame.assign(amount=frame["amount"].astype(object).mask(np.arange(len(frame)) == 4, "much"))
