"""Free energy of the logits."""

from __future__ import annotations

from numpy.typing import ArrayLike

from gditd.detectors.base import FloatArray
from gditd.detectors.softmax_network import SoftmaxNetwork


class Energy(SoftmaxNetwork):
    """The free energy -log sum exp(logits) at temperature 1 (Liu et al. 2020)."""

    def ood_score(self, X: ArrayLike) -> FloatArray:
        """Minus the log-sum-exp of the logits, averaged over members."""
        return self._apply(X, lambda _, logits: -logits.logsumexp(-1).mean(0))
