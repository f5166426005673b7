"""Say why rows are strange."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gditd import GDITDClassifier
from gditd.cli.console import collected_notes, out, print_json, tell
from gditd.cli.tasks.models import kinds_of_columns, load_classifier
from gditd.cli.tasks.rows import parse_rows
from gditd.cli.tasks.tables import chunks
from gditd.explain import Explanation
from gditd.summary import finite
from gditd.tables import TableError
from gditd.tables.typed import typed

CHUNK_ROWS = 1_024  # explaining needs many times a row's own memory


def explain(path: Path, table: Path, *, rows: str | None, json: bool) -> None:
    """Explain the rows asked for, all of them by default."""
    wanted = None if rows is None else parse_rows(rows)
    model = load_classifier(path).set_params(on_error="ood")
    with collected_notes() as notes:
        found = list(explanations(model, table, wanted))
    if json:
        print_json([document for document, _ in found])
        return
    console = out()
    for document, explanation in found:
        console.print(f"Row {document['row']}: {document['verdict']} (p-value {p_value(document)})", style="bold")
        console.print(f"{explanation}\n")
    for note in notes:
        tell(f"note: {note}")


def explanations(
    model: GDITDClassifier, path: Path, wanted: list[int] | None
) -> Iterator[tuple[dict[str, Any], Explanation]]:
    """Yield each wanted row's document and explanation, in the table's order."""
    done = 0
    kinds = kinds_of_columns(model)
    for table in chunks(path, CHUNK_ROWS):
        here = np.arange(table.num_rows) if wanted is None else places_in(wanted, done, table.num_rows)
        if len(here):
            # The whole chunk, for the messages to count rows as the file does.
            verdicts = model.verdict(table, rows_before=done).iloc[here]
            unread = verdicts["error"].dropna()
            if len(unread):
                raise TableError(unread.iloc[0])
            explained = model.explain(typed(table.take(here), kinds))
            for place, row, explanation in zip(here, verdicts.itertuples(), explained, strict=True):
                yield described(done + int(place) + 1, row, explanation), explanation
        done += table.num_rows
        if wanted is not None and done >= wanted[-1]:
            return
    if wanted is not None:
        raise TableError(f'there is no row {wanted[-1]}: "{path}" has {done} rows')


def places_in(wanted: list[int], done: int, n_rows: int) -> np.typing.NDArray[np.int64]:
    """Which rows of a chunk are wanted, from 0."""
    places = np.array(wanted) - 1 - done
    return places[(places >= 0) & (places < n_rows)]


def described(number: int, row: Any, explanation: Explanation) -> dict[str, Any]:
    """A row's verdict and reasons in plain values."""
    reasons = {name: value for name, value in explanation.to_dict().items() if name != "error"}
    return {"row": number, "verdict": str(row.verdict), "p_value": finite(row.p_value), **reasons}


def p_value(document: dict[str, Any]) -> str:
    """A p-value for people."""
    return "-" if document["p_value"] is None else f"{document['p_value']:.3g}"
