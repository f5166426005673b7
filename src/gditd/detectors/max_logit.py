"""Maximum logit."""

from __future__ import annotations

from numpy.typing import ArrayLike

from gditd.detectors.base import FloatArray
from gditd.detectors.softmax_network import SoftmaxNetwork


class MaxLogit(SoftmaxNetwork):
    """The negative of the largest logit (Hendrycks et al. 2022)."""

    def ood_score(self, X: ArrayLike) -> FloatArray:
        """Minus the largest logit, averaged over members."""
        return self._apply(X, lambda _, logits: -logits.amax(-1).mean(0))
