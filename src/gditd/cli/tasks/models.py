"""Models from files, and what to say about the alpha asked of them."""

from __future__ import annotations

from pathlib import Path

from gditd import GDITDClassifier, load
from gditd.cli.trust import trusted_key


def load_classifier(path: Path) -> GDITDClassifier:
    """Read a model that gives verdicts, signed by whom the command line asks for."""
    model = load(path, verify=trusted_key())
    if not isinstance(model, GDITDClassifier):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which gives no verdicts: use a model that gditd fit has written"
        )
    return model


def kinds_of_columns(model: GDITDClassifier) -> dict[str, str]:
    """What each column held in training: numbers, dates, ..."""
    return {column["column"]: column["kind"] for column in model.summary()["columns"]}


def notes_on_alpha(model: GDITDClassifier, alpha: float | None) -> list[str]:
    """Say where an alpha chosen after fit has no effect."""
    if alpha is None:
        return []
    if model.summary()["rule"] == "sign":
        return ["this model uses the sign rule, in which alpha plays no part"]
    promises = model.promises()
    rarest = promises.loc[promises["smallest_alpha"].idxmax()]
    if rarest["smallest_alpha"] < alpha:
        return []
    return [
        f"nothing can be called OOD at alpha {alpha:g}: class {str(rarest['class'])!r} has too few rows for "
        f"any alpha up to {rarest['smallest_alpha']:.3g}"
    ]
