"""Named settings of the classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal

from gditd.calibration import Rule
from gditd.nn.losses import Beta
from gditd.plan import Calibration
from gditd.tables.numbers import Numbers
from gditd.training.cohort import Backbone
from gditd.views.weights import PRIOR

Views = Literal["zeta", "few", "all"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything a preset decides; the defaults are the paper's."""

    numbers: Numbers = "zscore"
    normal_scores: bool = False
    """Whether networks see number columns as normal scores, while all else sees them as they are encoded."""
    backbone: str | Backbone = "mlp"
    n_members: int = 1
    beta: Beta = "paper"
    max_epochs: int = 100
    max_steps: int | None = None
    """Stop after about so many steps, where the table is so large that they come before the last epoch."""
    batch_size: int = 200
    learning_rate: float = 1e-3
    validation_fraction: float = 0.0
    patience: int = 10
    rare_per_batch: int = 0
    calibration: Calibration = "none"
    rule: Rule = "sign"
    views: Views = "zeta"

    @property
    def fused(self) -> bool:
        """Whether several views are fused: the weights need rows of their own, which split calibration holds out."""
        return self.views != "zeta" and self.calibration == "split" and self.rule == "conformal"


PRESETS = {
    "paper": Settings(),
    "default": Settings(
        normal_scores=True,
        n_members=3,
        max_steps=3_000,
        rare_per_batch=8,
        calibration="split",
        rule="conformal",
        views="all",
    ),
    "fast": Settings(
        backbone="mlp-64-32-32",
        max_epochs=40,
        max_steps=1_500,
        rare_per_batch=8,
        calibration="split",
        rule="conformal",
        views="few",
    ),
}

# The views of each setting, and how many trees or ferns they have; ranges are those of a mixed forest's first trees.
VIEW_NAMES: Mapping[str, tuple[str, ...]] = {
    "all": tuple(PRIOR),
    "few": ("zeta", "embedding-mahalanobis", "mixed-forest", "mixed-ranges", "fern-likelihood", "fern-surprise"),
}
TREES: Mapping[str, Mapping[str, int]] = {
    "all": {"mixed-forest": 60, "mixed-ranges": 60, "forest": 60, "fern-likelihood": 64},
    "few": {"mixed-forest": 24, "mixed-ranges": 12, "fern-likelihood": 64},
}
NAMING_TREES: Mapping[str, int] = {"all": 100, "few": 0}  # of the forest that only names classes


def chosen_settings(preset: str, **chosen: Any) -> Settings:
    """Take a preset and replace what was chosen (None: not chosen)."""
    if preset not in PRESETS:
        names = ", ".join(f'"{name}"' for name in PRESETS)
        raise ValueError(f"preset must be one of {names}, got {preset!r}")
    settings = replace(PRESETS[preset], **{name: value for name, value in chosen.items() if value is not None})
    if chosen.get("max_epochs") is not None:
        settings = replace(settings, max_steps=None)
    if chosen.get("numbers") is not None:  # for everybody
        settings = replace(settings, normal_scores=False)
    if settings.calibration not in ("split", "cross", "none"):
        raise ValueError(f'calibration must be "split", "cross" or "none", got {settings.calibration!r}')
    if settings.rule not in ("conformal", "sign"):
        raise ValueError(f'rule must be "conformal" or "sign", got {settings.rule!r}')
    if settings.rule == "conformal" and settings.calibration == "none":
        raise ValueError('rule="conformal" needs calibration="split" or "cross"')
    if settings.views not in ("zeta", *VIEW_NAMES):
        raise ValueError(f'views must be "zeta", "few" or "all", got {settings.views!r}')
    if chosen.get("views") not in (None, "zeta") and not settings.fused:
        raise ValueError(
            f'views={settings.views!r} needs calibration="split" and rule="conformal": choose them, or views="zeta"'
        )
    n_members: object = settings.n_members
    if not isinstance(n_members, Integral) or n_members < 1:
        raise ValueError(f"n_members must be a whole number of at least 1, got {n_members!r}")
    return settings


def refuse_unfit(*, alpha: object, on_error: object, ignore: object) -> None:
    """Refuse, by name, settings that no preset decides and that cannot work."""
    if not isinstance(alpha, Real) or not 0 < float(alpha) < 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}")
    if on_error not in ("raise", "ood"):
        raise ValueError(f'on_error must be "raise" or "ood", got {on_error!r}')
    if not isinstance(ignore, tuple | list):
        raise ValueError(f'ignore must be a tuple or list of column names, such as ("id",), got {ignore!r}')
