"""One method a file, one interface: fit, predict, predict_proba, ood_score, save.

To add a detector, write its file and export it here: the common tests and the model file find it by itself.
"""

from gditd.detectors.base import Detector
from gditd.detectors.deep_mcdd import DeepMCDD
from gditd.detectors.energy import Energy
from gditd.detectors.extra_trees import ExtraTrees
from gditd.detectors.gditd import GDITD
from gditd.detectors.knn import KNN
from gditd.detectors.mahalanobis import Mahalanobis
from gditd.detectors.max_logit import MaxLogit
from gditd.detectors.odin import ODIN
from gditd.detectors.softmax import Softmax

__all__ = [
    "GDITD",
    "KNN",
    "ODIN",
    "DeepMCDD",
    "Detector",
    "Energy",
    "ExtraTrees",
    "Mahalanobis",
    "MaxLogit",
    "Softmax",
]
