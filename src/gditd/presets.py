"""Named settings of the GDITD detector."""

from __future__ import annotations

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    # The paper, to the letter.
    "paper": {},
    "default": {"backbone": "residual", "n_members": 5, "beta": "effective"},
    "fast": {"backbone": "residual", "max_epochs": 40},
}


def preset_settings(preset: str) -> dict[str, Any]:
    """Return the settings of a preset by name."""
    if preset not in PRESETS:
        names = ", ".join(f'"{name}"' for name in PRESETS)
        raise ValueError(f"preset must be one of {names}, got {preset!r}")
    return PRESETS[preset]
