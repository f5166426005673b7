"""Named settings of the classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal

from gditd.calibration import Rule, check_alpha
from gditd.nn.losses import Beta
from gditd.plan import Calibration
from gditd.tables.numbers import Numbers
from gditd.training.cohort import Backbone
from gditd.views.looks import WIDEST
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
        backbone="mlp-64",
        n_members=3,
        max_steps=3_000,
        rare_per_batch=8,
        calibration="split",
        rule="conformal",
        views="all",
    ),
    "fast": Settings(
        backbone="mlp-slim",
        max_epochs=40,
        max_steps=1_500,
        rare_per_batch=8,
        calibration="split",
        rule="conformal",
        views="few",
    ),
}


# How many trees or ferns the views of each setting have; ranges are those of a mixed forest's first trees.
MANY_TREES: Mapping[str, int] = {"mixed-forest": 60, "mixed-ranges": 60, "forest": 60, "fern-likelihood": 64}
NAMING_TREES: Mapping[str, int] = {"all": 100, "few": 0}  # of a forest that only names classes
TRIAL_SHARE: Mapping[str, float] = {"all": 0.5, "few": 0.4}  # of trees and ferns, where a class is left out; at most
# How many rows, as a share of those that taught views, must be held out for these to be learned once more, from every
# row, for all that promises nothing: two sets cost time at every verdict.
APART_FROM: Mapping[str, float] = {"all": 0.0, "few": 0.15}
LEFT_OUT: Mapping[str, int] = {"zeta": 0, "all": 6, "few": 4}  # classes at the most, to see which views catch them
FEWEST_TREES, MOST_TREES, COLUMNS_OF_A_TREE = 20, 36, 24  # of each forest of "few", before what time is left
FEW_WITH_RANGES = 20
# Nanoseconds a row, of "few": to read it and to look at it. What wide tables take is more in any case.
BUDGET, READING_A_COLUMN, LOOKING_AT_A_COLUMN = 2_300.0, 1.6, 11.0


def view_names(views: Views, width: int) -> tuple[str, ...]:
    """The views of a setting for a table of so many encoded columns.

    The few have the plain forest only where a table is too wide for the columns' distance; in others it costs more
    than it adds.
    """
    if views == "all":
        return tuple(name for name in PRIOR if name != "drawn-in-rivals")
    costly = {"hidden-prototypes", "column-rivals"} | (set() if width > WIDEST else {"forest"})
    return tuple(name for name in PRIOR if name not in costly)


def tree_counts(views: Views, width: int) -> Mapping[str, int]:
    """How many trees or ferns they have at least.

    The few have more trees in wide tables, whose rows take longer to read and to send through a network anyway.
    """
    if views == "all":
        return MANY_TREES
    count = min(max(width // COLUMNS_OF_A_TREE, FEWEST_TREES), MOST_TREES)
    return {**MANY_TREES, "mixed-forest": count, "mixed-ranges": FEW_WITH_RANGES, "forest": count}


def budget_of(views: Views, width: int) -> float | None:
    """How many nanoseconds the views of a setting may take for a row of so many encoded columns; None: any number."""
    return None if views == "all" else max(BUDGET - READING_A_COLUMN * width, LOOKING_AT_A_COLUMN * width)


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
    if settings.views not in LEFT_OUT:
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
    check_alpha(alpha)
    if on_error not in ("raise", "ood"):
        raise ValueError(f'on_error must be "raise" or "ood", got {on_error!r}')
    if not isinstance(ignore, tuple | list):
        raise ValueError(f'ignore must be a tuple or list of column names, such as ("id",), got {ignore!r}')
