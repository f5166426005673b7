"""What cannot be exported, refused by name before any work."""

from __future__ import annotations

from typing import get_args

from sklearn.utils.validation import check_is_fitted

from gditd import GDITDClassifier
from gditd.integrations.onnx import Numbers
from gditd.integrations.onnx.looks import exportable
from gditd.nn import MLP, ResidualMLP


def refuse_unfit(model: GDITDClassifier, alpha: float | None, numbers: str) -> None:
    """Refuse a model with a part that has no graph, naming what comes nearest."""
    if not isinstance(model, GDITDClassifier):
        raise ValueError(f"a {type(model).__name__} gives no verdicts and cannot be exported: fit a GDITDClassifier")
    check_is_fitted(model)
    if alpha is not None and not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}")
    if numbers not in get_args(Numbers):
        raise ValueError(f"numbers must be {' or '.join(get_args(Numbers))}, got {numbers!r}")
    cohort, fusion = model.model_.cohort, model.model_.fusion
    network = type(cohort.architecture.network)
    if network not in (MLP, ResidualMLP):
        raise ValueError(
            f"backbone: a network of your own ({network.__name__}) cannot be exported: "
            'fit with backbone="mlp" or "residual", or with a callable that makes a gditd.nn.MLP of other widths'
        )
    if cohort.columns is not None:
        raise ValueError("members that see some of the columns only cannot be exported: fit with all of them")
    for name, view in () if fusion is None else fusion.views.views.items():
        if not exportable(view):
            raise ValueError(f'views: "{name}" cannot be exported: fit with views="all", "few" or "zeta"')
