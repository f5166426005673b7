"""Which known classes are taken for which."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gditd.report.material import Absent, Material, Part
from gditd.report.page import paragraph
from gditd.report.tables import Cell, Shaded, Text, table
from gditd.report.words import name, percent

MOST_CLASSES = 20  # in a matrix that people can read
MOST_PAIRS = 30
LONGEST_HEADING = 20


def confusion(material: Material) -> Part | Absent:
    """The matrix of true and most likely classes, or the pairs confused most where classes are many."""
    known = ~material.is_unseen
    if not known.any():
        return Absent("Confusion of known classes", "there is no row of a class the model knows: add some")
    n = len(material.names)
    pairs = material.scored.classes[known] * n + material.scored.predicted[known]
    said = "Rows of known classes by their true class and by the most likely class, which every row has, OOD or not."
    body = paragraph(said)
    if n <= MOST_CLASSES:
        counts = np.bincount(pairs, minlength=n * n).reshape(n, n)
        flagged = np.bincount(material.scored.classes[known & material.scored.flagged], minlength=n)
        body += matrix(material.names, counts, flagged)
    else:
        body += worst_pairs(material.names, pairs, n)
    return Part("confusion", "Confusion of known classes", body)


def matrix(names: list[str], counts: NDArray[np.int64], flagged: NDArray[np.int64]) -> str:
    """True classes down, most likely ones across."""
    rows: list[list[Cell]] = []
    for c, own in enumerate(counts):
        total = max(int(own.sum()), 1)
        cells: list[Cell] = [Shaded(f"{count:,}", count / total) if count else "0" for count in own.tolist()]
        right = percent(own[c] / total) if own.sum() else percent(None)
        rows.append([names[c], *cells, right, f"{flagged[c]:,}"])
    headings = ["true class", *(f"as {name(label, LONGEST_HEADING)}" for label in names), "right", "of them called OOD"]
    return table("Rows by true class and most likely class", headings, rows, notes=["Shade: share of the true class."])


def worst_pairs(names: list[str], pairs: NDArray[np.int64], n: int) -> str:
    """The pairs of classes that are confused most."""
    found, counts = np.unique(pairs, return_counts=True)
    wrong = found // n != found % n
    found, counts = found[wrong], counts[wrong]
    if not len(found):
        return paragraph("No row of a known class was taken for another.")
    order = np.argsort(-counts, kind="stable")[:MOST_PAIRS]
    totals = np.bincount(pairs // n, minlength=n)
    rows = [
        [names[pair // n], Text([names[pair % n]]), f"{count:,}", percent(count / totals[pair // n])]
        for pair, count in zip(found[order].tolist(), counts[order].tolist(), strict=True)
    ]
    notes = [f"With {n:,} classes, the {len(rows)} pairs confused most are listed, of {len(found):,}."]
    return table("Classes taken for others", ["true class", "taken for", "rows", "of the class"], rows, notes=notes)
