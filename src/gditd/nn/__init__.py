"""The paper as PyTorch modules, for anyone's own training loop; knows no tables and no files."""

from gditd.nn.backbones import MLP, ResidualMLP, StackableLinear
from gditd.nn.descriptor import Description, GaussianDescriptor
from gditd.nn.losses import DistanceFocalLoss, GDITDLoss, PullLoss, ScoreFocalLoss, ScoreLoss

__all__ = [
    "MLP",
    "Description",
    "DistanceFocalLoss",
    "GDITDLoss",
    "GaussianDescriptor",
    "PullLoss",
    "ResidualMLP",
    "ScoreFocalLoss",
    "ScoreLoss",
    "StackableLinear",
]
