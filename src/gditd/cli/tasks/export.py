"""Write a model as an ONNX graph, and say how to use it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from gditd.cli.console import out as stdout
from gditd.cli.console import print_json, tell
from gditd.cli.tasks.models import load_classifier, notes_on_alpha
from gditd.integrations.onnx import NEEDS, Numbers, export_onnx, is_installed


def export(
    path: Path,
    out: Path,
    *,
    alpha: float | None,
    require_alpha: bool,
    numbers: Numbers,
    json: bool,
    quiet: bool,
) -> None:
    """Load, export, and describe what was written."""
    if not is_installed():
        raise ValueError(NEEDS)
    refuse_unfit_path(out, path)
    model = load_classifier(path)
    notes = notes_on_alpha(model, alpha)
    export_onnx(model, out, alpha=alpha, require_alpha=require_alpha, numbers=numbers)
    document = described(out, str(path)) | {"notes": notes}
    if json:
        print_json(document)
    elif not quiet:
        for note in notes:
            tell(f"note: {note}")
        show(document)


def refuse_unfit_path(out: Path, model: Path) -> None:
    """Find out before the work that the file cannot be written, or would replace the model."""
    if not out.name.lower().endswith(".onnx"):
        raise ValueError(f"cannot write {out}: ONNX is what models are exported to, give it a name that ends in .onnx")
    if out.is_dir():
        raise ValueError(f"{out} is a folder: give the name of a file in it")
    if not out.parent.is_dir():
        raise ValueError(f"cannot write {out}: there is no folder {out.parent}")
    if out.exists() and model.exists() and out.samefile(model):
        raise ValueError(f"{out} would replace the model itself: choose another name")


def described(out: Path, model: str) -> dict[str, Any]:
    """What is in the file, as the file itself says."""
    from gditd.integrations.onnx.reading import described_file  # noqa: PLC0415 - onnx is an extra

    return {"model": model, "onnx": str(out), "bytes": out.stat().st_size, **described_file(out)}


def show(document: dict[str, Any]) -> None:
    """The summary for people."""
    console = stdout()
    kinds = Counter(column["type"] for column in document["columns"])
    inputs = ", ".join(f"{count} of {kind}" for kind, count in sorted(kinds.items()))
    console.print(
        f"Wrote {document['onnx']}, {document['bytes'] / 1e6:.1f} MB: ONNX opset {document['opset']} and "
        f"ai.onnx.ml {document['ml_opset']}."
    )
    console.print(f"Inputs: {inputs}, one a column, each (rows, 1); and {document['alpha_input']}.")
    console.print(f"Outputs: {', '.join(document['outputs'])}.")
    console.print("How to call it from Python and JavaScript: docs/onnx.md")
