"""Views: several ways to look at a row, fused into one score with weights learned from classes left out."""

from gditd.views.forecast import Forecast
from gditd.views.fuse import Material, learn_fusion
from gditd.views.fusion import Fusion

__all__ = ["Forecast", "Fusion", "Material", "learn_fusion"]
