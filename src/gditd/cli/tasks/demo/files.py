"""What the demo leaves in its folder, and which folders it may use."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Files:
    """The demo's files in a folder."""

    folder: Path

    @property
    def train(self) -> Path:
        """Disputes to learn from."""
        return self.folder / "disputes-train.csv"

    @property
    def new(self) -> Path:
        """Disputes to judge."""
        return self.folder / "disputes-new.csv"

    @property
    def model(self) -> Path:
        """What was learned."""
        return self.folder / "disputes.gditd"

    @property
    def verdicts(self) -> Path:
        """The new disputes with their verdicts."""
        return self.folder / "verdicts.csv"

    @property
    def report(self) -> Path:
        """A page about the verdicts."""
        return self.folder / "report.html"

    def named(self) -> dict[str, str]:
        """All of them by what they are."""
        return {name: str(getattr(self, name)) for name in ("train", "new", "model", "verdicts", "report")}


def refuse_unfit_folder(out: Path) -> None:
    """Find out before the work that files cannot go there, or would come among those of others."""
    if not out.is_dir() and os.path.lexists(out):
        raise ValueError(f"--out {out} is a file: give the name of a folder")
    if not out.parent.is_dir():
        raise ValueError(f"cannot make the folder {out}: there is no folder {out.parent}")
    home = out if out.is_dir() else out.parent
    if not os.access(home, os.W_OK):
        raise ValueError(f"--out {out}: no files can be written in {home}: choose another folder")
    if out.is_dir() and not Files(out).train.is_file() and any(not path.name.startswith(".") for path in out.iterdir()):
        raise ValueError(f"--out {out} is a folder with files that are not the demo's: name a new or an empty one")
