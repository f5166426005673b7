"""Many networks trained as one stacked program; knows no tables and no files."""

from gditd.training.batches import Member
from gditd.training.cohort import Cohort
from gditd.training.descent import DescentSettings, Progress, TrainingDiverged
from gditd.training.team import alone, leads

__all__ = ["Cohort", "DescentSettings", "Member", "Progress", "TrainingDiverged", "alone", "leads"]
