"""Maximum softmax probability."""

from __future__ import annotations

from numpy.typing import ArrayLike

from gditd.detectors.base import FloatArray
from gditd.detectors.softmax_network import SoftmaxNetwork


class Softmax(SoftmaxNetwork):
    """One minus the largest softmax probability (Hendrycks and Gimpel 2017)."""

    def ood_score(self, X: ArrayLike) -> FloatArray:
        """1 - max probability."""
        largest: FloatArray = self.predict_proba(X).max(axis=1)
        return 1 - largest
