"""Show what a model knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from gditd import GDITDClassifier
from gditd.cli.console import out, percent, print_json
from gditd.cli.tasks.fit import members, promise_table
from gditd.cli.tasks.models import load_classifier
from gditd.cli.trust import trusted_key
from gditd.model_file.signed_file import signer_of
from gditd.privacy import KINDS, privacy_document
from gditd.summary import forecast_words


def inspect(path: Path, *, privacy: bool, json: bool) -> None:
    """Print a model's summary, or what it holds of its training table."""
    model = load_classifier(path)
    document = {"model": str(path), **(privacy_document(model) if privacy else described(path, model))}
    if json:
        print_json(document)
    elif privacy:
        show_privacy(document)
    else:
        show(document)


def described(path: Path, model: GDITDClassifier) -> dict[str, Any]:
    """The summary, and the key the file says it was signed with."""
    return {"signed_by": signer_of(path), **model.summary()}


def show(document: dict[str, Any]) -> None:
    """The summary for people."""
    console = out()
    console.print(
        f"{document['model']}: preset {document['preset']}, {members(document['members'])}, "
        f"alpha {document['alpha']:g}, rule {document['rule']}, calibration {document['calibration']}, "
        f"temperature {document['temperature']:.3g}"
    )
    console.print(promise_table(document["classes"]))
    console.print(document["proven"])
    if document["rule"] == "conformal":
        console.print(forecast_words(document["forecast"]))
    if document["forecast"] is not None:
        console.print(left_out_table(document["forecast"]["left_out"]))
    console.print(f"Judged by: {views_words(document['views'])}")
    console.print()
    console.print(column_table(document["columns"]))
    if document["ignored"]:
        console.print(f"Left out: {', '.join(document['ignored'])}")
    console.print(signature_words(document["signed_by"]))


def signature_words(fingerprint: str | None) -> str:
    """Who signed, and whether that was proven."""
    if fingerprint is None:
        return "Not signed."
    if trusted_key() is None:
        return f"Signed with the key {fingerprint}, by its own account: --verify PUBLIC_KEY proves it."
    return f"Signed with the key {fingerprint}, verified."


def show_privacy(document: dict[str, Any]) -> None:
    """What a model holds of its training table, the most telling first."""
    console = out()
    console.print(f"{document['model']} was trained on {document['training_rows']:,} rows, and holds of them:")
    for kind, meaning in KINDS.items():
        held = [holding for holding in document["holdings"] if holding["kind"] == kind]
        if not held and kind != "rows":
            continue
        console.print(f"\n{kind}: {meaning}", style="bold")
        for holding in held:
            note = f" ({holding['note']})" if holding["note"] else ""
            console.print(f"  {holding['count']:>9,}  {holding['what']}{note}")
        if not held:
            console.print("       none")


def left_out_table(classes: list[dict[str, Any]]) -> Table:
    """How well each known class was caught while it was left out."""
    table = Table()
    for heading in ("class left out", "AUROC", "called OOD"):
        table.add_column(heading, justify="left" if heading == "class left out" else "right")
    for caught in classes:
        table.add_row(str(caught["class"]), percent(caught["auroc"]), percent(caught["recall"]))
    return table


def views_words(views: dict[str, float]) -> str:
    """The views, the weightiest first."""
    ordered = sorted(views.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {percent(share)}" for name, share in ordered)


def column_table(columns: list[dict[str, Any]]) -> Table:
    """Columns with their kind, share of missing values and range."""
    table = Table()
    for name in ("column", "kind", "missing", "in training"):
        table.add_column(name, justify="right" if name == "missing" else "left")
    for column in columns:
        table.add_row(column["column"], column["kind"], percent(column["missing"]), column["summary"])
    return table
