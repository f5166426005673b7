"""Tables that can be shown to others: mixtures of near rows in the place of the real ones."""

from gditd.synthesis.report import Distances, Privacy, SynthesisReport, Utility, measure_privacy, measure_utility
from gditd.synthesis.synthesize import Synthetic, synthesize

__all__ = [
    "Distances",
    "Privacy",
    "SynthesisReport",
    "Synthetic",
    "Utility",
    "measure_privacy",
    "measure_utility",
    "synthesize",
]
